/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A sorted set in Redis. Messages are its members, due times their scores. A poller claims those that are due each
 * 100 ms, and at once again while there are more than it claims in one call.
 */
final class Redis implements Link {
    private static final int INTERVAL_MS = 100, CLAIMED = 1000, BUFFER = 1 << 16;
    private static final String SET = "delayed", PONG = "+PONG\r\n";
    private static final String CLAIM = "local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'limit', 0, "
            + "ARGV[2]) if #due > 0 then redis.call('zrem', KEYS[1], unpack(due)) end return due";

    private final Tally tally;
    private final int port;
    private final ByteArrayOutputStream members = new ByteArrayOutputStream(BUFFER);
    private final List<Integer> gathered = new ArrayList<>();
    private final Deque<int[]> inFlight = new ArrayDeque<>(); // of each command, in order
    private Socket writer, reader;
    private volatile boolean lost;

    Redis(Tally tally, int port) {
        this.tally = tally;
        this.port = port;
    }

    @Override
    public void connect() throws Exception {
        fail();
        writer = new Socket("127.0.0.1", port);
        reader = new Socket("127.0.0.1", port);
        writer.setTcpNoDelay(true);
        reader.setTcpNoDelay(true);
        awaitLoaded(reader);
        Socket ofReplies = writer, ofPolls = reader;
        lost = false;
        start(() -> acknowledge(ofReplies));
        start(() -> poll(ofPolls));
    }

    /** A server that still loads its file answers each command with an error. */
    private static void awaitLoaded(Socket socket) throws IOException {
        socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
        if (!new String(socket.getInputStream().readNBytes(PONG.length()), StandardCharsets.US_ASCII).equals(PONG))
            throw new IOException("not loaded");
    }

    private interface Work {
        void run() throws Exception;
    }

    private void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception away) {
                lost = true;
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** Marks all messages in flight as failed. */
    private void fail() throws IOException {
        if (writer != null) {
            writer.close();
            reader.close();
        }
        synchronized (inFlight) {
            for (int[] numbers : inFlight)
                for (int number : numbers)
                    tally.fail(number);
            inFlight.clear();
        }
        for (int number : gathered)
            tally.fail(number);
        clear();
    }

    private void clear() {
        gathered.clear();
        members.reset();
    }

    @Override
    public boolean lost() {
        return lost;
    }

    @Override
    public void send(int number, byte[] body, long dueMs) {
        gathered.add(number);
        bulk(members, Long.toString(dueMs).getBytes(StandardCharsets.US_ASCII));
        bulk(members, body);
    }

    @Override
    public void flush() throws Exception {
        if (gathered.isEmpty() || lost)
            return;
        int[] numbers = gathered.stream().mapToInt(Integer::intValue).toArray();
        ByteArrayOutputStream command = new ByteArrayOutputStream(members.size() + 64);
        command.writeBytes(("*" + (2 + 2 * numbers.length) + "\r\n").getBytes(StandardCharsets.US_ASCII));
        bulk(command, "ZADD".getBytes(StandardCharsets.US_ASCII));
        bulk(command, SET.getBytes(StandardCharsets.US_ASCII));
        members.writeTo(command);
        synchronized (inFlight) {
            inFlight.add(numbers);
        }
        clear();
        command.writeTo(writer.getOutputStream());
    }

    private static void bulk(ByteArrayOutputStream out, byte[] bytes) {
        out.writeBytes(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        out.writeBytes(bytes);
        out.writeBytes(new byte[] {'\r', '\n'});
    }

    private void acknowledge(Socket socket) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER));
        while (true) {
            line(in, ':');
            synchronized (inFlight) {
                if (socket == writer)
                    tally.acknowledge(inFlight.remove().length);
            }
        }
    }

    private void poll(Socket socket) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER));
        while (true) {
            ByteArrayOutputStream command = new ByteArrayOutputStream();
            command.writeBytes("*6\r\n".getBytes(StandardCharsets.US_ASCII));
            for (String word : new String[] {"EVAL", CLAIM, "1", SET, Long.toString(System.currentTimeMillis()),
                    Integer.toString(CLAIMED)})
                bulk(command, word.getBytes(StandardCharsets.US_ASCII));
            command.writeTo(socket.getOutputStream());
            int due = line(in, '*');
            for (int i = 0; i < due; i++) {
                byte[] body = new byte[line(in, '$')];
                in.readFully(body);
                in.skipNBytes(2);
                tally.see(body);
            }
            if (due < CLAIMED)
                Thread.sleep(INTERVAL_MS);
        }
    }

    /** Returns the number of a reply's line. */
    private static int line(DataInputStream in, char type) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int c = in.readUnsignedByte(); c != '\r'; c = in.readUnsignedByte())
            text.append((char) c);
        in.readUnsignedByte();
        if (text.charAt(0) != type)
            throw new IOException(text.toString());
        return Integer.parseInt(text.substring(1));
    }
}
