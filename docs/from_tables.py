#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people are told of options and commands, from the tables that the command
has of them.

    docs/from_tables.py FASTMAP table           the table in docs/options.md
    docs/from_tables.py FASTMAP table --write   ... written into it
    docs/from_tables.py FASTMAP calls [--write] the calls in docs/limits.md
    docs/from_tables.py FASTMAP man TEMPLATE OUT NAME=VALUE...
    docs/from_tables.py FASTMAP completion bash|zsh|fish OUT PROFILES
    docs/from_tables.py FASTMAP ask OUT.json    for all of these, as FASTMAP
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Command:
    """What `fastmap NAME --help` says."""

    # "  --name VALUE   text" and what a text goes on in; else a paragraph.
    OPTION = re.compile(r"  (--[a-z-]+)(?: (\S+))?(?:  +(.*))?$")
    GOES_ON = re.compile(r" {20,}(.*)$")

    def __init__(self, name, line, text):
        self.name, self.line = name, line
        # Options, and paragraphs as lists of lines, in their order.
        self.usage, self.options, self.body = [], [], [[]]
        for l in text.splitlines():
            self.take(l)

    def take(self, l):
        option = self.OPTION.match(l)
        on = self.GOES_ON.match(l)
        if l.startswith(("usage: ", "       fastmap ")):
            # Two spaces: what it is for.
            self.usage.append(re.split("  +", l[7:]))
        elif option:
            self.options.append([o or "" for o in option.groups()])
            self.body += [self.options[-1], []]
        elif on and self.options:
            old = self.options[-1]
            old[2] = " ".join(t for t in (old[2], on.group(1)) if t)
        elif l.strip():
            self.body[-1].append(l.strip())
        else:
            self.body.append([])

    def arguments(self):
        """What may stand behind the options, by position."""
        return [u[0].split()[2:] for u in self.usage]


class Tables:
    def __init__(self, fastmap):
        self.fastmap = fastmap
        self.said = {}
        if fastmap.endswith(".json"):
            self.said = json.load(open(fastmap))
        self.options = json.loads(self.ask("options", "--json"))
        self.commands = []
        for l in self.ask("--help").splitlines():
            known = re.match("  fastmap ([a-z][a-z-]*)", l)
            if known:
                name = known.group(1)
                self.commands.append(Command(
                    name, re.split("  +", l.strip())[-1],
                    self.ask(name, "--help")))

    def ask(self, *args):
        words = " ".join(args)
        if words not in self.said:
            self.said[words] = subprocess.run(
                [self.fastmap, *args], check=True, text=True,
                stdout=subprocess.PIPE, timeout=60).stdout
        return self.said[words]


def cmd_ask(tables, args):
    """What is made of it is made again only where it says something else."""
    said = json.dumps(tables.said, indent=1)
    if not os.path.exists(args[0]) or open(args[0]).read() != said:
        open(args[0], "w").write(said)


def values(o):
    """What may be given, for people."""
    if "max" in o:
        return "%d to %d" % (o["min"], o["max"])
    return o["value"].replace("|", ", ")


def meaning(o):
    return ". ".join(t for t in (o["line"], o["rest"]) if t)


# ---- docs/options.md -------------------------------------------------------

BEGIN, END = "| name | variable |", "\n\n"


def table(tables):
    yield "| name | variable | values | default | meaning |"
    yield "|---|---|---|---|---|"
    for o in tables.options:
        yield "| `%s` | %s | %s | %s | %s |" % (
            o["name"],
            "`%s`" % o["variable"] if o["variable"] else "(policy files only)",
            values(o), "`%s`" % o["default"] if o["default"] else "",
            meaning(o))


def options_md(tables):
    """The document as it should be, and as it is."""
    path = HERE + "/options.md"
    is_ = open(path).read()
    begin = is_.index(BEGIN)
    end = is_.index(END, begin)
    return path, is_[:begin] + "\n".join(table(tables)) + is_[end:], is_


def cmd_table(tables, args):
    path, should, is_ = options_md(tables)
    if args == ["--write"]:
        open(path, "w").write(should)
    else:
        print("\n".join(table(tables)))


# ---- docs/limits.md --------------------------------------------------------

CALLS = "| system call | why |"


def calls_left():
    text = open(HERE + "/../shim/calls.def").read()
    why = {}
    for name, reason in re.findall(r'^LEFT\((\w+), "(.*)"\)$', text, re.M):
        why.setdefault(reason, []).append("`%s`" % name)
    yield CALLS
    yield "|---|---|"
    for reason, names in why.items():
        yield "| %s | %s |" % (", ".join(names), reason)


def limits_md():
    """The document as it should be, and as it is."""
    path = HERE + "/limits.md"
    is_ = open(path).read()
    begin = is_.index(CALLS)
    end = is_.index(END, begin)
    return path, is_[:begin] + "\n".join(calls_left()) + is_[end:], is_


def cmd_calls(_, args):
    path, should, is_ = limits_md()
    if args == ["--write"]:
        open(path, "w").write(should)
    else:
        print("\n".join(calls_left()))


# ---- manual pages ----------------------------------------------------------

def roff(text):
    """`Quoted` words bold; nothing that roff would take for its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub("`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub("^(['.])", r"\\&\1", text, flags=re.M)


def synopsis(tables):
    for c in tables.commands:
        for n, u in enumerate(u for u in c.usage if u[0] not in
                              [v[0] for v in c.usage[:c.usage.index(u)]]):
            words = u[0].split()
            if n or c is not tables.commands[0]:
                yield ".br"
            yield ".B " + roff(" ".join(words[:2]))
            if words[2:]:
                yield ".I " + roff(" ".join(words[2:]))
    yield ".br"
    yield ".B fastmap \\-\\-version"


def commands(tables):
    for c in tables.commands:
        yield ".SS fastmap " + c.name
        yield roff(c.line[0].upper() + c.line[1:] + ".")
        for u in c.usage:
            if len(u) > 1:
                yield ".TP"
                yield ".B " + roff(u[0])
                yield roff(u[1])
        for part in c.body:
            if part in c.options:
                name, value, text = part
                yield ".TP"
                yield ".B " + roff(name) if not value else \
                    '.BI "%s " "%s"' % (roff(name), roff(value))
                yield roff(text)
            elif part:
                yield ".PP"
                yield roff("\n".join(part))


def options(tables):
    for o in tables.options:
        yield ".TP"
        yield '.BI "%s = " "%s"' % (
            roff(o["name"]), roff(values(o).replace(", ", "|")))
        notes = ["[path]"] if o["path"] else []
        if o["variable"]:
            notes.append(o["variable"])
        if o["default"]:
            notes.append("default " + o["default"])
        yield roff("(%s)" % ", ".join(notes))
        yield ".br"
        yield roff(meaning(o) + ".")


def variables(tables):
    for o in tables.options:
        if o["variable"]:
            yield ".TP"
            yield ".B " + o["variable"]
            yield roff(o["line"] + (" (default %s)" % o["default"]
                                    if o["default"] else ""))


def documents(_):
    """Keys of what is printed as JSON, by docs/json.md."""
    for section in open(HERE + "/json.md").read().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        yield ".SS " + roff(title)
        for key, unit, what in re.findall(
                r"^\| `([^`]+)` \| (\S.*?) \|(?: (.*))? \|$", text, re.M):
            yield ".TP"
            yield ".B " + roff(key)
            yield roff("(%s)" % unit + (" " + what if what else ""))


PARTS = {"@JSON@": documents, "@SYNOPSIS@": synopsis, "@COMMANDS@": commands, "@OPTIONS@": options,
         "@VARIABLES@": variables}


def cmd_man(tables, args):
    template, out, *words = args
    text = open(template).read()
    for word in words:
        name, _, value = word.partition("=")
        text = text.replace("@%s@" % name, roff(value))
    for name, part in PARTS.items():
        if name in text:
            text = text.replace(name, "\n".join(part(tables)))
    left = re.search("@[A-Z]+@", text)
    if left:
        sys.exit("%s: nothing for %s" % (template, left.group()))
    open(out, "w").write(text)


# ---- completion ------------------------------------------------------------

def kind(value):
    """How a value is completed: "words", "path", "profile", or None."""
    if "PROFILE" in value:
        return "profile"
    if re.match(r"[a-z0-9-]+(\|[a-z0-9-]+)+$", value):
        return "words"
    return "path" if re.match("PATH|FILE|SOCKET", value) else None


def words_of(command):
    """Words in lower case that a usage has behind its options."""
    found = []
    for line in command.arguments():
        for w in line:
            if re.match(r"[a-z]+(\|[a-z]+)*$", w):
                found += w.split("|")
    return sorted(set(found))


def takes(command):
    """What the arguments are: a program, names of options, files, nothing."""
    text = " ".join(" ".join(a) for a in command.arguments())
    for what, word in (("program", "PROGRAM"), ("names", "[NAME...]"),
                       ("files", "FILE"), ("files", "SOCKET")):
        if word in text:
            return what
    return "nothing"


def asks_who(command):
    """Does the first argument name a process?"""
    return any(w in ("WHO", "[WHO]")
               for a in command.arguments() for w in a[:2])


def second(command):
    """What stands behind who is asked: "words" that the process knows, "keys" of
    options that it can change, or None."""
    for line in command.arguments():
        for what, word in (("words", "COMMAND"), ("keys", "KEY")):
            if line[:2] == ["WHO", word]:
                return what
    return None


def live(tables):
    """Options that change while the process runs."""
    return [o for o in tables.options if o["live"]]


FEW = 10  # values


def choices(tables):
    """Of these, values that can be named: (option, words)."""
    for o in live(tables):
        if kind(o["value"]) == "words":
            yield o["name"], o["value"].replace("|", " ")
        elif 0 < o.get("max", 0) < FEW:
            yield o["name"], " ".join(map(str, range(o["min"], o["max"] + 1)))


def long_names(command):
    return ["--help"] + [name for name, _, _ in command.options]


BASH = """\
# SPDX-License-Identifier: MIT
# Completion of fastmap for bash.
_fastmap_value()
{
	local profiles

	case $1 in
%(values)s
	--policy)
		profiles=("%(profiles)s"/*.policy)
		profiles=("${profiles[@]##*/}")
		mapfile -t COMPREPLY < <(compgen -f -- "$2"
			compgen -W "${profiles[*]%%.policy}" -- "$2")
		compopt -o filenames 2>/dev/null ;;
	%(paths)s)
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		compopt -o filenames 2>/dev/null ;;
	*) COMPREPLY=() ;;
	esac
}

# Running processes: ids and names; a path is a socket's.
_fastmap_who()
{
	mapfile -t COMPREPLY < <(compgen -W "$(fastmap ps 2>/dev/null |
		awk 'NR > 1 { print $1; print $3 }')" -- "$1"
		[[ $1 == */* ]] && compgen -f -- "$1")
}

# Commands that this process knows, by its own list.
_fastmap_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$(fastmap ctl "$1" help 2>/dev/null |
		sed 's/[[:space:]].*//')" -- "$2")
}

# Values of an option that a running process can change.
_fastmap_live()
{
	case $1 in
%(live_values)s
	*) COMPREPLY=() ;;
	esac
}

_fastmap()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "%(commands)s --help --version" \\
			-- "$cur")
		return
	fi
	# Options come first; each takes a value unless it is listed here.
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) ((i++)); break ;;
		%(flags)s) ;;
		--*)
			((i++))
			if ((i == COMP_CWORD)); then
				_fastmap_value "${COMP_WORDS[i - 1]}" "$cur"
				return
			fi ;;
		*) break ;;
		esac
	done
	if [[ $cur == -* ]] && ((i == COMP_CWORD)); then
		case $command in
%(options)s
		esac
		return
	fi
	case $command in
%(arguments)s
	esac
}
complete -F _fastmap fastmap
"""


BASH_SECOND = {
    "words": """_fastmap_words "${COMP_WORDS[i]}" "$cur"
		else
			compopt -o default 2>/dev/null""",
    "keys": """mapfile -t COMPREPLY < <(compgen -W "%s" -- "$cur")
		elif ((i + 2 == COMP_CWORD)); then
			_fastmap_live "${COMP_WORDS[i + 1]}" "$cur\""""}


def bash_arguments(c, tables):
    behind = bash_behind(c, tables)
    if second(c):
        text = BASH_SECOND[second(c)]
        if "%s" in text:
            text %= " ".join(o["name"] for o in live(tables))
        return """if ((i == COMP_CWORD)); then
			_fastmap_who "$cur"
		elif ((i + 1 == COMP_CWORD)); then
			%s
		fi""" % text
    if not asks_who(c):
        return behind
    if takes(c) == "program": # or behind --
        return """if ((i == COMP_CWORD)) && [[ ${COMP_WORDS[i - 1]} != -- ]]; then
			_fastmap_who "$cur"
		else
			%s
		fi""" % behind.replace("\n", "\n\t")
    return """if ((i == COMP_CWORD)); then
			_fastmap_who "$cur"
		else
			%s
		fi""" % behind.replace("\n", "\n\t")


def bash_behind(c, tables):
    what = takes(c)
    if what == "program":
        return """if ((i == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		elif declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			compopt -o default 2>/dev/null
		fi"""
    files = "compopt -o default 2>/dev/null" if what == "files" else ":"
    words = " ".join([o["name"] for o in tables.options] if what == "names"
                     else words_of(c))
    reply = 'mapfile -t COMPREPLY < <(compgen -W "%s" -- "$cur")' % words
    if not words:
        return files
    if files == ":":
        return reply
    return """if ((i < COMP_CWORD)); then
			%s
		else
			%s
		fi""" % (reply, files)


def all_options(tables):
    """Each once: (name, value, text)."""
    return {o[0]: o for c in tables.commands for o in c.options}.values()


def bash(tables, profiles):
    opts = list(all_options(tables))
    return BASH % {
        "profiles": profiles,
        "commands": " ".join(c.name for c in tables.commands),
        "flags": " | ".join(["--help", "-h"] +
                            [n for n, v, _ in opts if not v]),
        "values": "\n".join(
            '\t%s) mapfile -t COMPREPLY < <(compgen -W "%s" -- "$2") ;;' %
            (n, v.replace("|", " ")) for n, v, _ in opts if kind(v) == "words"),
        "live_values": "\n".join(
            '\t%s) mapfile -t COMPREPLY < <(compgen -W "%s" -- "$2") ;;' % c
            for c in choices(tables)),
        "paths": " | ".join(n for n, v, _ in opts if kind(v) == "path"),
        "options": "\n".join(
            '\t\t%s) mapfile -t COMPREPLY < <(compgen -W "%s" \\\n'
            '\t\t\t-- "$cur") ;;' % (c.name, " ".join(long_names(c)))
            for c in tables.commands),
        "arguments": "\n".join("\t%s)\n\t\t%s ;;" % (
            c.name, bash_arguments(c, tables)) for c in tables.commands)}


ZSH = """\
#compdef fastmap
# SPDX-License-Identifier: MIT
_fastmap_policies() {
	local -a profiles
	profiles=(%(profiles)s/*.policy(N:t:r))
	_alternative 'profiles:profile:compadd -a profiles' 'files:file:_files'
}

_fastmap_who() {
	local -a who
	who=(${(f)"$(fastmap ps 2>/dev/null | awk 'NR > 1 { print $1; print $3 }')"})
	_alternative 'processes:process:compadd -a who' 'sockets:socket:_files'
}

_fastmap_words() {
	local -a known
	known=(${(f)"$(fastmap ctl "$line[1]" help 2>/dev/null |
		sed 's/[[:space:]].*//')"})
	compadd -a known
}

_fastmap_live() {
	case $line[2] in
%(live_values)s
	esac
}

_fastmap() {
	local -a line
	if (( CURRENT == 2 )); then
		local -a commands
		commands=(
%(commands)s
		)
		_describe -t commands command commands
		_arguments : '--help[usage]' '--version[version]'
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
%(cases)s
	esac
}

_fastmap "$@"
"""


def quoted(text):
    return text.replace("'", "'\\''")


def zsh_text(text):
    return quoted(re.sub(r"([\[\]:\\])", r"\\\1", text))


def zsh_option(name, value, text):
    action = {"words": "(%s)" % value.replace("|", " "), "path": "_files",
              "profile": "_fastmap_policies", None: " "}[kind(value)]
    what = zsh_text(value)
    return "'%s[%s]%s'" % (name, zsh_text(text),
                           ":%s:%s" % (what, action) if value else "")


def zsh_arguments(c, tables):
    words = words_of(c)
    if second(c) == "words":
        return ["'1:process:_fastmap_who'", "'2:command:_fastmap_words'",
                "'*:file:_files'"]
    if second(c) == "keys":
        return ["'1:process:_fastmap_who'", "'2:option:(%s)'" % " ".join(
            o["name"] for o in live(tables)), "'3:value:_fastmap_live'"]
    if asks_who(c) and takes(c) != "program":
        return ["'1:process:_fastmap_who'"] + (
            ["'*:file:_files'"] if takes(c) == "files" else [])
    return {"program": ["'(-)1:program: _command_names -e'",
                        "'*::arguments: _normal'"],
            "names": ["'*:option:(%s)'" % " ".join(
                o["name"] for o in tables.options)],
            "files": ["'1:file:_files'", "'2:command:(%s)'" %
                      " ".join(words)] if words else ["'*:file:_files'"],
            "nothing": []}[takes(c)]


def zsh(tables, profiles):
    def case(c):
        rows = ["'--help[usage]'"] + [zsh_option(*o) for o in c.options] + \
            zsh_arguments(c, tables)
        return "\t%s) _arguments -S : \\\n\t\t%s ;;" % (
            c.name, " \\\n\t\t".join(rows))

    return ZSH % {
        "profiles": profiles,
        "live_values": "\n".join("\t%s) compadd %s ;;" % c
                                 for c in choices(tables)),
        "commands": "\n".join("\t\t\t'%s:%s'" % (c.name, zsh_text(c.line))
                              for c in tables.commands),
        "cases": "\n".join(map(case, tables.commands))}


FISH = """\
# SPDX-License-Identifier: MIT
# Completion of fastmap for fish.
complete -c fastmap -f
function __fastmap_profiles
	for p in %(profiles)s/*.policy
		string replace -r '.*/(.*)[.]policy' '$1' $p
	end
end
# Running processes: ids and names.
function __fastmap_who
	fastmap ps 2>/dev/null | awk 'NR > 1 { print $1; print $3 }'
end
# What stands behind the options.
function __fastmap_arguments
	set -l words $argv
	while string match -q -- '--*' $words[1]
		if test $words[1] = --
			set words $words[2..]
			break
		end
		if contains -- $words[1] %(flags)s
			set words $words[2..]
		else
			set words $words[3..]
		end
	end
	string join \\n -- $words
end
# Options of this command may come here.
function __fastmap_options
	set -l words (commandline -opc)
	test "$words[2]" = $argv[1]; or return 1
	contains -- -- $words; and return 1
	test -z (__fastmap_arguments $words[3..] | string collect)
end
# What stands before the cursor behind the options, if there are so many.
function __fastmap_before
	set -l words (commandline -opc)
	test "$words[2]" = $argv[1]; or return 1
	set words (__fastmap_arguments $words[3..])
	test (count $words) = $argv[2]; or return 1
	string join \\n -- $words
	return 0 # join says 1 for a single word
end
# Commands that this process knows, by its own list.
function __fastmap_words
	set -l who (__fastmap_before $argv[1] 1); or return
	fastmap ctl $who help 2>/dev/null | string replace -r '\\s.*' ''
end
# Values of an option that a running process can change.
function __fastmap_live
	set -l words (__fastmap_before $argv[1] 2); or return
	switch $words[2]
%(live_values)s
	end
end
# The arguments as a command line of their own.
function __fastmap_program
	set -l words (commandline -opc)[3..] (commandline -ct)
	set -l program (__fastmap_arguments $words)
	set -q program[1]; and complete -C (string join ' ' -- $program)
end
"""


def fish_text(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish_second(c, tables):
    """Conditions, and what is offered."""
    before = "-n '__fastmap_before %s %%d >/dev/null'" % c.name
    if second(c) == "words":
        yield before % 1 + " -xa '(__fastmap_words %s)'" % c.name
    if second(c) == "keys":
        yield before % 1 + " -xa '%s'" % " ".join(
            o["name"] for o in live(tables))
        yield before % 2 + " -xa '(__fastmap_live %s)'" % c.name


def fish(tables, profiles):
    yield FISH % {
        "profiles": profiles,
        "live_values": "\n".join(
            "\t\tcase %s\n\t\t\tstring split ' ' '%s'" % c
            for c in choices(tables)),
        "flags": " ".join(["--help"] + [n for n, v, _ in all_options(tables)
                                        if not v])}
    for c in tables.commands:
        yield "complete -c fastmap -n __fish_use_subcommand -a %s -d '%s'" % (
            c.name, fish_text(c.line))
        here = "complete -c fastmap -n '__fish_seen_subcommand_from %s'" % \
            c.name
        option = "complete -c fastmap -n '__fastmap_options %s'" % c.name
        for name, value, text in [("--help", "", "usage")] + c.options:
            values_ = {"words": "-xa '%s'" % value.replace("|", " "),
                       "path": "-rF", "profile": "-rFa '(__fastmap_profiles)'",
                       None: "-x"}[kind(value)] if value else ""
            yield "%s -l %s %s -d '%s'" % (option, name[2:], values_,
                                           fish_text(text))
        arguments = {"program": "-xa '(__fastmap_program)'",
                     "names": "-a '%s'" % " ".join(
                         o["name"] for o in tables.options),
                     "files": "-Fa '%s'" % " ".join(words_of(c)),
                     "nothing": None}[takes(c)]
        if arguments:
            yield "%s %s" % (here, arguments)
        if asks_who(c):
            yield "%s -Fa '(__fastmap_who)'" % option
        for text in fish_second(c, tables):
            yield "complete -c fastmap " + text


SHELLS = {"bash": bash, "zsh": zsh,
          "fish": lambda *args: "\n".join(fish(*args)) + "\n"}


def cmd_completion(tables, args):
    shell, out, profiles = args
    open(out, "w").write(SHELLS[shell](tables, profiles))


COMMANDS = {"table": cmd_table, "calls": cmd_calls, "man": cmd_man,
            "completion": cmd_completion, "ask": cmd_ask}


def main(args):
    if len(args) < 2 or args[1] not in COMMANDS:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return COMMANDS[args[1]](Tables(args[0]), args[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
