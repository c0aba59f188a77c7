# Whether the script lives is looked at before the journal is read: a script that ends between the two is complete, and
# not interrupted.
if [ ! -e "$state/runner" ]; then
	if [ ! -e "$foreign" ]; then
		echo 'runner none 0'
	elif [ -e "$success" ]; then
		echo 'runner foreign 1'
	else
		echo 'runner foreign 0'
	fi
	exit 0
fi
read -r pid start boot total <"$state/runner"
life=dead
if read -r line 2>/dev/null <"/proc/$pid/stat" && read -r now </proc/sys/kernel/random/boot_id && [ "$boot" = "$now" ]; then
	line=${line##*) }
	# shellcheck disable=SC2086 # The fields are words.
	set -- $line
	case $1 in
	Z | X) ;;
	*) [ "${20}" != "$start" ] || life=alive ;;
	esac
fi
printf 'runner %s %s\n' "$life" "$total"
# The outputs may still grow.
section() {
	size=0
	[ ! -f "$state/$1" ] || size=$(($(wc -c <"$state/$1")))
	shown=$size
	[ "$size" -le "$limit" ] || shown=$limit
	printf '%s %s\n' "$1" "$shown"
	[ "$size" -eq 0 ] || head -c "$size" "$state/$1" | tail -c "$shown"
	echo
}
section journal
section warnings
section stdout
section stderr
