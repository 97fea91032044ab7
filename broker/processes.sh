# Functions of the scripts in pair/ and cluster/, which start brokers and end them; read by them, not run. POSIX sh.

# running_id FILE TEXT: prints the process id in FILE, if that process runs and its command line contains TEXT. Another process may
# have got the id meanwhile.
running_id() {
    [ -s "$1" ] || return 1
    id=$(cat "$1")
    case $id in '' | *[!0-9]*) return 1 ;; esac
    case $({ tr '\0' ' ' <"/proc/$id/cmdline"; } 2>/dev/null) in
    *"$2"*) echo "$id" ;;
    *) return 1 ;;
    esac
}

# start_program FILE LOG COMMAND…: starts a program in the background, appends its output to LOG, and writes its process id to FILE.
start_program() {
    id_file=$1 log_file=$2
    shift 2
    "$@" >>"$log_file" 2>&1 </dev/null &
    echo $! >"$id_file"
}

# stop_program FILE TEXT NAME: ends the program of running_id in order, and waits for its end.
stop_program() {
    if id=$(running_id "$1" "$2"); then
        kill "$id" && kill -CONT "$id" 2>/dev/null || true # a stopped process handles no other signal
        wait_until 60 has_ended "$1" "$2" ||
            die 1 "cannot end $3: the process $id still runs 60 s after SIGTERM. Look into its log, then run: kill -9 $id"
        echo "$program: $3 has ended" >&2
    elif [ -s "$1" ] && [ -n "$({ tr -d '\0' <"/proc/$(cat "$1")/cmdline"; } 2>/dev/null)" ]; then
        die 1 "cannot end $3: the process $(cat "$1") of $1 is another program, or was started under another path. If it is another program, remove the file"
    fi
    rm -f "$1"
}

has_ended() { ! running_id "$@" >/dev/null; }

# wait_until SECONDS COMMAND…: repeats a command until it succeeds. Fails after SECONDS.
wait_until() {
    tries=$(($1 * 10))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

# logged LOG BYTES TEXT: succeeds if LOG contains TEXT after its first BYTES.
logged() { tail -c "+$(($2 + 1))" "$1" 2>/dev/null | grep -qF -- "$3"; }

# size FILE: prints the size of a file in bytes, 0 if it is missing.
size() { if [ -e "$1" ]; then wc -c <"$1"; else echo 0; fi; }

# check_ports TEXT COUNT: refuses everything but COUNT different ports with commas between them.
check_ports() {
    case $1 in '' | *[!0-9,]* | ,* | *, | *,,*) die 64 "--ports has $2 port numbers with commas between them; not '$1'" ;; esac
    [ "$(echo "$1" | tr , '\n' | sort -u | wc -l)" = "$2" ] ||
        die 64 "--ports has $2 different port numbers with commas between them; not '$1'"
    for port in $(echo "$1" | tr , ' '); do
        [ ${#port} -le 5 ] && [ "$port" -ge 1 ] && [ "$port" -le 65535 ] || die 64 "a port is 1 to 65535; not $port"
    done
}

# check_host TEXT: refuses what is neither a host name nor an address.
check_host() {
    case $1 in '' | *[!A-Za-z0-9.:-]* | -*) die 64 "'$1' is neither a host name nor an address" ;; esac
}

# item TEXT NUMBER: prints one part of a list with commas.
item() { echo "$1" | cut -d , -f "$2"; }
