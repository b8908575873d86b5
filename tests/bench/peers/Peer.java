/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.concurrent.locks.LockSupport;

/**
 * Peer KIND ADDRESS: sends messages with a delay to a server and reads them. Prints "ready" once it is connected. Each
 * line of the input is a run:
 *
 *   COUNT RATE DELAY_MS SETTLE_MS QUIET_MS    RATE messages a second (0: no limit), each due after the delay. All
 *                                             messages have one due time if the rate is 0.
 *
 * It prints "started", and one line of JSON at the end of the run.
 */
public final class Peer {
    private static final long RETRY_NS = 50_000_000, TICK_NS = 1_000_000, SECOND_NS = 1_000_000_000;
    private static final int STEP = 1024;
    private static final PrintStream OUT = System.out;

    private final Tally tally = new Tally();
    private final Link link;
    private long quietMostUs; // a run ends when no message returns for so long
    private long againAt = System.nanoTime();

    private Peer(String kind, String address) {
        link = switch (kind) {
        case "redis" -> new Redis(tally, Integer.parseInt(address));
        case "classic" -> new Rabbit(tally, Integer.parseInt(address), false);
        case "quorum" -> new Rabbit(tally, Integer.parseInt(address), true);
        case "levels" -> new Rocket(tally, address, true);
        case "timer" -> new Rocket(tally, address, false);
        default -> throw new IllegalArgumentException(kind);
        };
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // the libraries log there
        Peer peer = new Peer(args[0], args[1]);
        peer.connect();
        OUT.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            peer.quietMostUs = 1000 * Long.parseLong(words[4]);
            peer.run(Integer.parseInt(words[0]), Long.parseLong(words[1]), Long.parseLong(words[2]),
                    Integer.parseInt(words[3]));
        }
        System.exit(0);
    }

    private void connect() {
        while (true) {
            try {
                link.connect();
                return;
            } catch (Exception away) {
                LockSupport.parkNanos(RETRY_NS);
            }
        }
    }

    private void run(int count, long rate, long delayMs, int settleMs) throws Exception {
        tally.begin(count);
        OUT.println("started");
        double sentSeconds = sendAll(count, rate, delayMs);
        while (!tally.complete() && tally.quietUs() < quietMostUs)
            LockSupport.parkNanos(10 * TICK_NS);
        LockSupport.parkNanos(SECOND_NS); // for duplicates
        OUT.println(tally.told(settleMs, sentSeconds));
    }

    /**
     * Sends all messages, and those that failed again, until each is acknowledged. Gives up when nothing has returned for a
     * while after the last one. A message is due after the time at which it should be sent. Returns the seconds until the
     * last one was sent.
     */
    private double sendAll(int count, long rate, long delayMs) {
        long start = System.nanoTime(), sentAt = start, dueMs = Tally.wallUs() / 1000 + delayMs;
        int next = 0;
        while (next < count || !tally.acknowledgedAll() && tally.quietUs() < quietMostUs) {
            if (link.lost())
                connect();
            sendFailedAgain();
            long wanted = rate == 0 ? count : Math.min(count, (System.nanoTime() - start) * rate / SECOND_NS + 1);
            int until = (int) Math.min(wanted, next + STEP);
            for (; next < until; next++)
                send(next, rate == 0 ? dueMs : dueMs + next * 1000L / rate);
            flush();
            if (until == count && sentAt == start)
                sentAt = System.nanoTime();
            if (until == wanted)
                LockSupport.parkNanos(TICK_NS);
        }
        return (sentAt - start) / (double) SECOND_NS;
    }

    /** Sends a part of the failed messages again, with pauses: a server that is away should not get more load. */
    private void sendFailedAgain() {
        if (System.nanoTime() - againAt < RETRY_NS)
            return;
        againAt = System.nanoTime();
        for (int again = Math.min(tally.failed.size(), STEP); again > 0; again--) {
            int number = tally.failed.remove();
            send(number, tally.due(number));
        }
    }

    private void send(int number, long due) {
        try {
            link.send(number, tally.open(number, due, link.inFlightMax()), due);
        } catch (Exception away) {
            tally.fail(number);
        }
    }

    private void flush() {
        try {
            link.flush();
        } catch (Exception away) {
            LockSupport.parkNanos(RETRY_NS);
        }
    }
}
