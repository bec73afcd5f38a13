// SPDX-License-Identifier: MIT
// Run by ../java: DIR SIZE. Prints checksums of what it sees.
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.CRC32;
import static java.nio.file.StandardOpenOption.*;

class Mapped {
	static String crc(ByteBuffer b) {
		CRC32 c = new CRC32();
		ByteBuffer all = b.duplicate();
		all.clear();
		c.update(all);
		return Long.toHexString(c.getValue());
	}

	static void fill(MappedByteBuffer m, int size, int part, int parts) {
		for (int i = part * 8; i + 8 <= size; i += 8 * parts)
			m.putLong(i, i * 0x9E3779B97F4A7C15L);
	}

	static void threads(MappedByteBuffer m, int size) throws Exception {
		Thread[] t = new Thread[4];
		for (int k = 0; k < t.length; k++) {
			int part = k;
			t[k] = new Thread(() -> fill(m, size, part, t.length));
			t[k].start();
		}
		for (Thread each : t)
			each.join();
	}

	static void random(MappedByteBuffer m, int size) {
		Random r = new Random(4);
		long sum = 0;
		for (int i = 0; i < 20000; i++) {
			int at = r.nextInt(size - 8);
			sum += m.getLong(at);
			m.putInt(r.nextInt(size - 4), i);
		}
		System.out.println("random " + sum);
	}

	static void channels(FileChannel c, MappedByteBuffer m, Path dir, int size)
			throws IOException {
		int half = size / 2;
		try (FileChannel o = FileChannel.open(dir.resolve("copy"), CREATE,
				READ, WRITE)) {
			o.write(m.slice(half / 2 + 7, half)); // write() from the map
			c.transferTo(half, half / 2, o); // sendfile of a mapped file
			System.out.println("copy " + o.size());
			o.position(0);
			o.read(m.slice(11, 3 << 20)); // read() into the map
			o.transferFrom(c.position(0), o.size(), 1 << 20);
		}
		c.write(ByteBuffer.wrap("through the channel".getBytes()), 4321);
		byte[] b = new byte[19];
		m.get(4321, b);
		System.out.println(new String(b));
	}

	// A store beyond the end of the file is an InternalError, not a crash.
	static void truncated(Path p) throws IOException {
		try (FileChannel c = FileChannel.open(p, CREATE, READ, WRITE)) {
			MappedByteBuffer m = c.map(MapMode.READ_WRITE, 0, 64 << 10);
			m.put(40 << 10, (byte) 1);
			c.truncate(8 << 10);
			m.put(100, (byte) 7);
			for (int k = 0; k < 3; k++)
				try {
					m.put(40 << 10, (byte) 2);
					System.out.println("no error");
				} catch (InternalError e) {
					System.out.println("InternalError");
				}
		}
	}

	static void nulls() { // the JVM finds these by SIGSEGV
		int found = 0;
		for (int i = 0; i < 5000; i++)
			try {
				String s = i % 2 == 0 ? null : "x";
				found += s.length();
			} catch (NullPointerException e) {
				found += 2;
			}
		System.out.println("nulls " + found);
	}

	public static void main(String[] a) throws Exception {
		Path dir = Path.of(a[0]);
		int size = Integer.parseInt(a[1]);
		try (FileChannel c = FileChannel.open(dir.resolve("data"), CREATE,
				READ, WRITE)) {
			MappedByteBuffer m = c.map(MapMode.READ_WRITE, 0, size);
			threads(m, size);
			m.force();
			System.out.println("filled " + crc(m));
			random(m, size);
			nulls();
			MappedByteBuffer r = c.map(MapMode.READ_ONLY, 4097, size / 3);
			System.out.println("window " + crc(r));
			channels(c, m, dir, size);
			m.put(size / 3, (byte) 9);
			m.force(size / 3 - 100, 200);
			r = c.map(MapMode.READ_ONLY, 0, size).load();
			System.out.println("load " + crc(r));
			MappedByteBuffer p = c.map(MapMode.PRIVATE, 0, size);
			for (int i = 0; i < size; i += 10007)
				p.put(i, (byte) i);
			System.out.println("private " + crc(p));
			System.out.println("shared " + crc(m));
		}
		truncated(dir.resolve("short"));
		System.gc(); // unmaps
		MappedByteBuffer last = FileChannel.open(dir.resolve("data"), READ,
				WRITE).map(MapMode.READ_WRITE, 0, size);
		last.putLong(size - 8, 0x1234567890L); // never forced
		System.out.println("end " + crc(last));
	}
}
