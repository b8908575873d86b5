/* SPDX-License-Identifier: Apache-2.0 */
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.ConcurrentLinkedQueue;

/** The messages of one run: what was acknowledged, what returned, and how late. Messages of other runs are ignored. */
final class Tally {
    static final int BODY = 100;
    private static final long RESOLUTION_US = 1000; // of due times
    private static volatile long offsetUs = offsetUs();

    final ConcurrentLinkedQueue<Integer> failed = new ConcurrentLinkedQueue<>();
    private int run, count, distinct, twice, early, inFlight, acknowledged;
    private long[] dueMs = {}, lateUs = {};
    private BitSet seen = new BitSet();
    private long heardUs, lastUs;

    private static long offsetUs() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()) - System.nanoTime() / 1000;
    }

    static long wallUs() {
        return System.nanoTime() / 1000 + offsetUs;
    }

    synchronized void begin(int messages) {
        offsetUs = offsetUs();
        run++;
        count = messages;
        distinct = twice = early = inFlight = acknowledged = 0;
        dueMs = new long[messages];
        lateUs = new long[messages];
        seen = new BitSet(messages);
        heardUs = lastUs = wallUs();
        failed.clear();
    }

    /** Returns the body of a message and counts it as in flight. Waits while too many are. */
    synchronized byte[] open(int number, long due, int most) throws InterruptedException {
        while (inFlight >= most)
            wait(100);
        inFlight++;
        dueMs[number] = due;
        byte[] body = new byte[BODY];
        Arrays.fill(body, 24, BODY, (byte) 'x');
        ByteBuffer.wrap(body).putInt(run).putInt(number).putLong(due);
        return body;
    }

    synchronized long due(int number) {
        return dueMs[number];
    }

    synchronized void acknowledge(int messages) {
        inFlight -= messages;
        acknowledged += messages;
        notifyAll();
    }

    synchronized void fail(int number) {
        inFlight--;
        failed.add(number);
        notifyAll();
    }

    /** Counts a message that returned. */
    void see(byte[] body) {
        ByteBuffer fields = ByteBuffer.wrap(body);
        see(fields.getInt(), fields.getInt(), fields.getLong());
    }

    private synchronized void see(int ofRun, int number, long due) {
        if (ofRun != run)
            return;
        long nowUs = wallUs(), late = nowUs - due * 1000;
        heardUs = nowUs;
        if (seen.get(number)) {
            twice++;
            return;
        }
        seen.set(number);
        distinct++;
        lastUs = nowUs;
        lateUs[number] = late;
        early += late < -RESOLUTION_US ? 1 : 0;
    }

    synchronized boolean acknowledgedAll() {
        return acknowledged >= count;
    }

    synchronized boolean complete() {
        return distinct == count;
    }

    synchronized long quietUs() {
        return wallUs() - heardUs;
    }

    /** Returns the figures as JSON. Messages that were due in the first settleMs do not count for the lateness. */
    synchronized String told(int settleMs, double sentSeconds) {
        long[] late = new long[distinct];
        int n = 0;
        for (int i = 0; i < count; i++)
            if (seen.get(i) && dueMs[i] >= dueMs[0] + settleMs)
                late[n++] = lateUs[i];
        Arrays.sort(late, 0, n);
        return String.format(
                "{\"seen\": %d, \"missing\": %d, \"twice\": %d, \"early\": %d, \"p50\": %.2f, \"p99\": %.2f,"
                        + " \"max\": %.2f, \"last\": %.2f, \"sent_s\": %.3f}",
                distinct, count - distinct, twice, early, quantileMs(late, n, 0.5), quantileMs(late, n, 0.99),
                quantileMs(late, n, 1), (lastUs - dueMs[0] * 1000) / 1e3, sentSeconds);
    }

    private static double quantileMs(long[] sorted, int n, double quantile) {
        return n == 0 ? 0 : sorted[(int) (quantile * (n - 1))] / 1e3;
    }
}
