# The journal has one line for each beginning and end of a step, each written by one call of the kernel: whoever is
# killed leaves complete lines. `runner` exists from the first run on, so that there is no second one.
umask 022
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
HOME=${HOME:-/root}
BOOTSTRAP_WARNINGS=$state/warnings
export PATH HOME BOOTSTRAP_WARNINGS
cd / || exit 1
# Whoever started the script may go. A trap, unlike an ignored signal, is not inherited by the commands.
trap : HUP INT

record() {
	printf '%s\n' "$*" >>"$state/journal" || exit 74
}

uptime() {
	read -r up rest </proc/uptime
	up=${up%.*}
}

# Also what deliveries and starts have left that were cut.
finish() {
	rm -f -- "$state/script" "$state"/script.* "$state"/runner.*
	exit "$1"
}

# NUMBER WHAT: begins a step.
begin() {
	record begin "$1" "$2"
	: >"$state/stdout"
	: >"$state/stderr"
	umask 022
	uptime
	left=$((deadline - up))
	if [ "$left" -le 0 ]; then
		record timeout "$1"
		finish 1
	fi
}

# NUMBER CODE: ends a step.
end() {
	if [ "$2" -eq 0 ]; then
		record end "$1" 0
		return
	fi
	uptime
	# The codes of `timeout` after it has ended or killed the command: those of coreutils, and one of busybox.
	case $2 in
	124 | 137 | 143) [ "$up" -lt "$deadline" ] || set -- "$1" time ;;
	esac
	if [ "$2" = time ]; then
		record timeout "$1"
	else
		record end "$1" "$2"
	fi
	finish 1
}

# PROGRAM ARGUMENTS...: runs a command in a process group of its own, which ends with the time.
run() {
	timeout -k "$grace" "$left" "$@" </dev/null >"$state/stdout" 2>"$state/stderr"
}

# PATH FOLDER: makes the folder of a file.
place() {
	if [ -e "$1" ] && [ ! -f "$1" ]; then
		printf '%s is there, and is no file\n' "$1" >&2
		return 1
	fi
	[ -d "$2" ] || mkdir -p -- "$2"
}

# When this process began, which tells it from a later one of its number.
read -r line <"/proc/$$/stat" || exit 1
read -r boot </proc/sys/kernel/random/boot_id || exit 1
line=${line##*) }
# shellcheck disable=SC2086 # The fields are words.
set -- $line
claim=$state/runner.$$
umask 077
mkdir -p -- "$state" || exit 1
printf '%s %s %s %s\n' "$$" "${20}" "$boot" "$total" >"$claim" || exit 74
if ! ln -- "$claim" "$state/runner" 2>/dev/null; then
	rm -f -- "$claim"
	exit 75
fi
rm -f -- "$claim"
uptime
deadline=$((up + limit))
