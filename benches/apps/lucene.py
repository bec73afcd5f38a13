# SPDX-License-Identifier: MIT
"""Lucene's MMapDirectory: terms of 64 bits that each document has one of, and stored
fields of 1 KiB that do not compress; an index three times as large as the memory beside
the JVM's own."""
import os
import shutil
import subprocess

from .harness import NotHere, run_or
from .workload import Workload

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "LuceneJob.java")
VERSION = "9.12.3"  # the last for Java 17


class Lucene(Workload):
    bytes, memory, own = 3 << 30, 1 << 30, 160 << 20
    name, about = "lucene", "Lucene MMapDirectory, terms and stored fields, 4 threads"
    figure, aim = "queries", (2, 10)
    verdict = ("preload it where the read-ahead is large or the index is several times the "
               "memory; where half of it fits and the device is fast, 128 KiB natively are better")
    variants = ("preload",)

    def jar(self, place):
        """Of Maven."""
        jar = os.path.join(place.own, f"lucene-core-{VERSION}.jar")
        if not os.path.exists(jar):
            mvn = place.debian("mvn", "maven")
            run_or([mvn, "-q", "-B", "dependency:copy",
                    f"-Dartifact=org.apache.lucene:lucene-core:{VERSION}",
                    f"-DoutputDirectory={place.own}"])
            if not os.path.exists(jar):
                raise NotHere(f"Maven brought no {jar}")
        return jar

    def java(self, place, *args):
        place.debian("javac", "openjdk-17-jdk-headless")
        return [shutil.which("java"), "-Xmx96m", "-XX:+UseSerialGC",
                "-XX:ReservedCodeCacheSize=32m", "-cp", f"{self.jar(place)}:{place.own}",
                "LuceneJob", *args]

    def data(self, place):
        return place.path(f"lucene.{place.scale:g}")

    def make(self, place):
        java = self.java(place)
        run_or(["javac", "-cp", self.jar(place), "-d", place.own, SOURCE])
        if not os.path.exists(self.data(place)):
            new = self.data(place) + ".new"
            shutil.rmtree(new, ignore_errors=True)
            subprocess.run([*java, "make", new, str(int(self.bytes * place.scale))],
                           check=True)
            os.rename(new, self.data(place))

    def command(self, place, variant):
        return self.java(place, "query", self.data(place), variant or "plain")


EVERY = [Lucene()]
