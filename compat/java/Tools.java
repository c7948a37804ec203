import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Runs a script of calls of Kafka's command-line tools in this one process and prints a transcript: each call behind `$ `, what
 * it said (stdout and stderr as they came), and its exit code if that is not 0.
 *
 * <pre>
 *   java Tools BOOTSTRAP SCRIPT
 *
 *   # a comment; empty lines mean nothing
 *   TOOL [ARGUMENT...]          a call; an argument with spaces stands in '...'; $bootstrap is the broker's address, and a call
 *                               without it gets `--bootstrap-server $bootstrap` in front
 *   | LINE                      stdin of the call above, or the content of the file above
 *   file NAME                   writes NAME into the working directory
 *   member GROUP TOPIC CLIENT   joins a consumer of the classic protocol; `leave` ends all of them
 *   until PATTERN CALL          repeats CALL until what it says matches (30 s at most); the transcript has the last
 * </pre>
 */
public final class Tools {
    private static final Map<String, String> PACKAGES = Map.of(
        "ConfigCommand", "kafka.admin.",
        "ConsoleConsumer", "org.apache.kafka.tools.consumer.",
        "ConsumerGroupCommand", "org.apache.kafka.tools.consumer.group.",
        "ReassignPartitionsCommand", "org.apache.kafka.tools.reassign.");
    private static final String TOOLS = "org.apache.kafka.tools.";
    /** Its last records leave when its JVM ends. */
    private static final Set<String> ALONE = Set.of("VerifiableProducer");
    private static final int REPEATS = 60;

    private final String bootstrap;
    private final PrintStream transcript = System.out;
    private final Said said = new Said();
    private final List<Member> members = new ArrayList<>();
    private final List<Runnable> hooks = new ArrayList<>();

    private Tools(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        var tools = new Tools(arguments[0]);
        tools.takeExit();
        System.setOut(new PrintStream(tools.said, true));
        System.setErr(System.out);
        tools.run(Files.readAllLines(Path.of(arguments[1])));
        tools.leave();
        tools.transcript.flush();
        Runtime.getRuntime().halt(0);
    }

    private void run(List<String> script) throws Exception {
        for (int at = 0; at < script.size();) {
            var line = script.get(at++);
            var input = new StringBuilder();
            for (; at < script.size() && script.get(at).startsWith("| "); at++) {
                input.append(script.get(at).substring(2).replace("$bootstrap", bootstrap)).append('\n');
            }
            if (!line.isBlank() && !line.startsWith("#")) {
                step(words(line), input.toString());
            }
        }
    }

    private void step(List<String> words, String input) throws Exception {
        switch (words.get(0)) {
            case "file" -> Files.writeString(Path.of(words.get(1)), input);
            case "member" -> members.add(new Member(bootstrap, words.get(1), words.get(2), words.get(3)));
            case "leave" -> leave();
            case "until" -> {
                var wanted = Pattern.compile(words.get(1));
                var call = words.subList(2, words.size());
                var out = call(call, input);
                for (int i = 0; i < REPEATS && !wanted.matcher(out).find(); i++) {
                    Thread.sleep(500);
                    out = call(call, input);
                }
                show(call, out);
            }
            default -> show(words, call(words, input));
        }
    }

    private void leave() throws InterruptedException {
        for (var member : members) {
            member.consumer.wakeup();
            member.join();
        }
        members.clear();
    }

    private void show(List<String> call, String out) {
        transcript.println("$ " + String.join(" ", call));
        transcript.print(out);
        if (!out.isEmpty() && !out.endsWith("\n")) {
            transcript.println();
        }
    }

    /** Tools end through Kafka's class Exit, which has moved with 4.2. */
    private void takeExit() throws ReflectiveOperationException {
        var exit = found("org.apache.kafka.common.utils.Exit", "org.apache.kafka.common.utils.internals.Exit");
        for (var setter : exit.getMethods()) {
            if (setter.getName().startsWith("set")) {
                var kind = setter.getParameterTypes()[0];
                setter.invoke(null, Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (proxy, method, given) -> {
                    if (given[0] instanceof Integer code) {
                        exit(code, (String) given[1]);
                    }
                    hooks.add((Runnable) given[1]);
                    return null;
                }));
            }
        }
    }

    /** Ends the call. Some tools catch everything, this too, and complain: what they say from here on is not heard. */
    private void exit(int code, String message) {
        if (!said.closed) {
            runHooks();
            System.out.print(message == null ? "" : message + "\n");
            System.out.print(code == 0 ? "" : "exit code " + code + "\n");
            said.closed = true;
        }
        throw new Exited();
    }

    private String call(List<String> words, String input) throws Exception {
        said.reset();
        hooks.clear();
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        var arguments = new ArrayList<>(words.subList(1, words.size()));
        if (arguments.stream().noneMatch(word -> word.contains("$bootstrap"))) {
            arguments.addAll(0, List.of("--bootstrap-server", "$bootstrap"));
        }
        arguments.replaceAll(word -> word.replace("$bootstrap", bootstrap));
        if (ALONE.contains(words.get(0))) {
            return alone(words.get(0), arguments);
        }
        try {
            entry(words.get(0)).invoke(null, (Object) arguments.toArray(String[]::new));
        } catch (InvocationTargetException failure) {
            if (!(failure.getCause() instanceof Exited)) {
                System.out.println("thrown: " + failure.getCause());
            }
        }
        runHooks();
        return said.toString();
    }

    /** What the tool wanted to be done at its end: the console producer sends what it has. */
    private void runHooks() {
        var last = List.copyOf(hooks);
        hooks.clear();
        last.forEach(Runnable::run);
    }

    private static Method entry(String tool) throws ReflectiveOperationException {
        var pack = PACKAGES.getOrDefault(tool, TOOLS);
        return found(pack + tool, TOOLS + tool).getMethod("main", String[].class);
    }

    private static Class<?> found(String here, String orThere) throws ClassNotFoundException {
        try {
            return Class.forName(here);
        } catch (ClassNotFoundException moved) {
            return Class.forName(orThere);
        }
    }

    /** What a tool says that ends properly only with its process. */
    private static String alone(String tool, List<String> arguments) throws Exception {
        var command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow()));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), entry(tool).getDeclaringClass().getName()));
        command.addAll(arguments);
        var process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        var out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        var code = process.waitFor();
        return code == 0 ? out : out + "exit code " + code + "\n";
    }

    private static List<String> words(String line) {
        var words = new ArrayList<String>();
        var word = Pattern.compile("'([^']*)'|\\S+").matcher(line);
        while (word.find()) {
            words.add(word.group(1) == null ? word.group() : word.group(1));
        }
        return words;
    }

    private static final class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    /** What is said since the last reset, by whatever thread, until it is closed. */
    private static final class Said extends OutputStream {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        volatile boolean closed;

        @Override public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override public synchronized void write(byte[] b, int from, int count) {
            if (!closed) {
                bytes.write(b, from, count);
            }
        }

        @Override public synchronized String toString() {
            return bytes.toString(StandardCharsets.UTF_8);
        }

        synchronized void reset() {
            bytes.reset();
            closed = false;
        }
    }

    /** A consumer that polls until it is woken; it commits nothing. */
    private static final class Member extends Thread {
        final KafkaConsumer<String, String> consumer;

        Member(String bootstrap, String group, String topic, String client) {
            consumer = new KafkaConsumer<>(Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", group,
                "client.id", client,
                "group.protocol", "classic",
                "enable.auto.commit", "false",
                "partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor"),
                new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(topic));
            start();
        }

        @Override public void run() {
            try (consumer) {
                while (true) {
                    consumer.poll(Duration.ofSeconds(1));
                }
            } catch (WakeupException asked) {
                // It leaves its group as it is closed.
            }
        }
    }
}
