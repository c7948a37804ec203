# Ottla in a container:
#   docker build -t ottla .
#   docker run -p 9092:9092 ottla --dev --listen 0.0.0.0:9092
#   docker run -p 9092:9092 -v ottla:/var/lib/ottla -e OTTLA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 ottla
# The first listens on all interfaces of the container and, because of --dev, tells clients 127.0.0.1:9092.

FROM rust:1.89-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends build-essential libclang-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
RUN cargo build --profile dist --locked --bin ottla

FROM debian:bookworm-slim
# RocksDB is C++.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libstdc++6 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/ottla --create-home ottla
COPY --from=build /build/target/dist/ottla /usr/local/bin/ottla
USER ottla
# log.dirs is ./ottla-data: data lies in the volume without any setting, and --dev stays in memory.
WORKDIR /var/lib/ottla
VOLUME /var/lib/ottla
EXPOSE 9092
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=5s CMD ["ottla", "health"]
ENTRYPOINT ["ottla"]
