# The script first, so that no step follows. Its commands are in the session that began with it.
[ -f "$state/runner" ] || exit 0
read -r pid start boot total <"$state/runner"
read -r now </proc/sys/kernel/random/boot_id
[ "$boot" = "$now" ] || exit 0
read -r line 2>/dev/null <"/proc/$pid/stat" || exit 0
line=${line##*) }
# shellcheck disable=SC2086 # The fields are words.
set -- $line
[ "${20}" = "$start" ] || exit 0
kill -KILL "$pid"
# Somebody who started it otherwise is in the session, too.
[ "$4" = "$pid" ] || exit 0
found=1
# Again, because they may have started others meanwhile.
while [ "$found" -gt 0 ]; do
	found=0
	for process in /proc/[0-9]*; do
		read -r line 2>/dev/null <"$process/stat" || continue
		line=${line##*) }
		# shellcheck disable=SC2086 # The fields are words.
		set -- $line
		[ "$4" = "$pid" ] || continue
		case $1 in
		Z | X) ;;
		*)
			kill -KILL "${process#/proc/}" 2>/dev/null
			found=1
			;;
		esac
	done
done
