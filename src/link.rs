//! Build script: how the binary is linked. Not a module of the library.

fn main() {
    println!("cargo:rerun-if-changed=src/link.rs");
    // RocksDB has a static initializer in nearly every object file. Put side by side they fault in a few pages at start;
    // left among the rest they make most of RocksDB's code resident, with `--dev` too, which never calls it (2.5 MB).
    // GNU ld does so by itself and ignores the word.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
    }
}
