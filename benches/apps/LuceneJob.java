// SPDX-License-Identifier: MIT
// LuceneJob make DIR BYTES | query DIR plain|preload
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.MMapDirectory;

public class LuceneJob {
	static final int STORED = 1024, THREADS = 4, EACH = 100, SECONDS = 5;

	static String term(long i) {
		return Long.toHexString((i + 1) * 0x9e3779b97f4a7c15L);
	}

	static byte[] stored(long i) {
		byte[] b = new byte[STORED];
		new SplittableRandom(i).nextBytes(b);
		return b;
	}

	static void make(Path dir, long bytes) throws Exception {
		IndexWriterConfig c = new IndexWriterConfig(null).setRAMBufferSizeMB(16);
		try (IndexWriter w = new IndexWriter(new MMapDirectory(dir), c)) {
			for (long i = 0; i < bytes / (STORED + 40); i++) {
				Document d = new Document();
				d.add(new StringField("id", term(i), Field.Store.NO));
				d.add(new StoredField("body", stored(i)));
				w.addDocument(d);
			}
			w.commit();
		}
	}

	static long one(IndexSearcher s, long i) throws Exception {
		ScoreDoc[] hits = s.search(new TermQuery(new Term("id", term(i))), 2).scoreDocs;
		if (hits.length != 1)
			throw new Exception("document " + i + ": " + hits.length + " hits");
		byte[] b = s.storedFields().document(hits[0].doc).getBinaryValue("body").bytes;
		if (!java.util.Arrays.equals(b, stored(i)))
			throw new Exception("document " + i + ": other bytes");
		return java.util.Arrays.hashCode(b);
	}

	static void work(IndexSearcher s, int n, long end, AtomicLong done, AtomicLong sum) {
		SplittableRandom r = new SplittableRandom(n);
		int many = s.getIndexReader().maxDoc();
		try {
			for (int i = 0; i < EACH || System.nanoTime() < end; i++) {
				long x = one(s, r.nextInt(many));
				if (i < EACH)
					sum.addAndGet(x * (n + 1));
				done.incrementAndGet();
			}
		} catch (Throwable e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	static void query(Path dir, String way) throws Exception {
		long t0 = System.nanoTime();
		AtomicLong done = new AtomicLong(), sum = new AtomicLong();
		MMapDirectory d = new MMapDirectory(dir);
		if (way.equals("preload")) // its own remedy: all that it maps is touched
			d.setPreload(MMapDirectory.ALL_FILES);
		try (DirectoryReader r = DirectoryReader.open(d)) {
			IndexSearcher s = new IndexSearcher(r);
			Thread[] t = new Thread[THREADS];
			for (int i = 0; i < THREADS; i++) {
				int n = i;
				t[i] = new Thread(() -> work(s, n, t0 + SECONDS * 1000000000L, done, sum));
				t[i].start();
			}
			for (Thread x : t)
				x.join();
		}
		double seconds = (System.nanoTime() - t0) / 1e9;
		System.out.printf("{\"sum\": \"%x\", \"seconds\": %.2f, \"queries\": %.1f}%n",
				  sum.get(), seconds, done.get() / seconds);
	}

	public static void main(String[] a) throws Exception {
		if (a[0].equals("make"))
			make(Path.of(a[1]), Long.parseLong(a[2]));
		else
			query(Path.of(a[1]), a[2]);
	}
}
