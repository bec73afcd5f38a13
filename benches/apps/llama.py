# SPDX-License-Identifier: MIT
"""llama.cpp, as GPT4All brings it, on a model half as large again as the memory: each
token reads all weights in order, and what comes around next has gone by then."""
import os

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_job.py")


class Llama(Workload):
    name, about = "llama", "llama.cpp (GPT4All), 8-bit weights of random bytes, 4 tokens"
    bytes, memory, own = 4 << 30, (4 << 30) * 2 // 3, 160 << 20
    aim = (1.5, 1.5)
    verdict = "it may be preloaded or not: more memory is what helps"

    def job(self, place, *args):
        return [place.python("gpt4all==2.8.2", "gguf", "numpy"), JOB, *args]

    def data(self, place):
        return place.path(f"llama.{place.scale:g}.gguf")

    def make(self, place):
        self.make_by(place, self.job(place))

    def command(self, place, variant):
        return self.job(place, "say", self.data(place))


EVERY = [Llama()]
