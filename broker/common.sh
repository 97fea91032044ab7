# What add-device, add-watcher, add-recorder, add-gateway, add-bridge, add-enhancer, add-operator and add-eraser share; read by them, not run. POSIX sh.

set -eu
umask 077
export LC_ALL=C

program=$(basename "$0")
name= levels= lines= superseded= all=no group= cert=no password_stdin=no like= housekeeper=no commands=no
dir=${GODWIT_BROKER_DIR:-$here}
topic_root=${GODWIT_TOPIC_ROOT:-tracking}
password=${GODWIT_PASSWORD:-}
unset GODWIT_PASSWORD # so that no program started from here inherits it
trap 'exit 1' HUP INT TERM # and with it what is to be done at the end

# die CODE MESSAGE: 64 wrong usage, 66 a file cannot be read, 1 anything else.
die() {
    echo "$program: $2" >&2
    exit "$1"
}

help() {
    echo "$usage"
    cat <<'END'

Running it again with the same or more trackables adds the missing lines, removes the wider lines of earlier versions
and changes nothing else. The user gets a password: from --password-stdin, from GODWIT_PASSWORD, or a new one, which is
printed once on standard output. A given password has 12 bytes at least. An existing password remains unless another is given.

  --cert             a client certificate with CN=NAME instead of a password (certs/generate.sh makes it)
  --password-stdin   read the password from the first line of standard input
  --dir DIR          the broker's directory, with acl.conf and passwords   (GODWIT_BROKER_DIR; default: beside this file)
  --topic-root ROOT  for example acme/eu/tracking                          (GODWIT_TOPIC_ROOT; default: tracking)
END
}

# Reads options and names into the variables above; validates all of them before anything is written.
read_arguments() {
    options=yes count=0
    while [ $# -gt 0 ]; do
        argument=$1
        shift
        if [ "$options" = yes ]; then
            case $argument in
            --) options=no; continue ;;
            -h | --help) help; exit 0 ;;
            --cert) cert=yes; continue ;;
            --password-stdin) password_stdin=yes; continue ;;
            --all) all=yes; continue ;;
            --housekeeper) housekeeper=yes; continue ;;
            --commands) commands=yes; continue ;;
            --dir=*) dir=${argument#*=}; continue ;;
            --topic-root=*) topic_root=${argument#*=}; continue ;;
            --group=*) group=${argument#*=}; continue ;;
            --dir | --topic-root | --group)
                [ $# -gt 0 ] || die 64 "$argument needs a value"
                case $argument in
                --dir) dir=$1 ;;
                --group) group=$1 ;;
                --topic-root) topic_root=$1 ;;
                esac
                shift
                continue
                ;;
            -*) die 64 "unknown option $argument (a name that begins with - comes after --)" ;;
            esac
        fi
        if [ "$count" = 0 ]; then
            check_client "$argument"
            name=$argument
        else
            level=$(topic_level "$argument") || exit 64
            levels="$levels $level"
        fi
        count=$((count + 1))
    done
    [ -n "$name" ] || die 64 "which NAME? ($program --help)"
    check_root
    [ -z "$group" ] || [ "$program" = add-recorder ] || die 64 "unknown option --group"
    [ "$housekeeper" = no ] || [ "$program" = add-recorder ] || die 64 "unknown option --housekeeper"
    [ "$commands" = no ] || [ "$program" = add-gateway ] || die 64 "unknown option --commands"
    [ -f "$dir/acl.conf" ] || die 66 "no acl.conf in the directory $dir"
    if [ "$cert" = yes ] && { [ "$password_stdin" = yes ] || [ -n "$password" ]; }; then
        die 64 "--cert and a password exclude each other"
    fi
    # The bridge of pair/up has the rights of this user.
    if [ "$name" = pair ] && grep -qsx 'connection pair' "$dir/a/mosquitto.conf"; then
        die 64 "the name pair belongs to the bridge of this pair. Choose another name"
    fi
    [ -z "$password" ] || check_password
}

# Refuses passwords that can be guessed or that mosquitto_passwd cannot read.
check_password() {
    case $password in
    *[[:cntrl:]]*) die 64 "a password has no control characters" ;;
    esac
    [ ${#password} -ge 12 ] ||
        die 64 "a password has at least 12 bytes; this one has ${#password}. Leave it out to have one made"
    [ ${#password} -le 1024 ] || die 64 "a password has at most 1024 bytes; this one has ${#password}"
}

need_trackables() { [ -n "$levels" ] || die 64 "which TRACKABLE? ($program --help)"; }
refuse_trackables() { [ -z "$levels" ] || die 64 "$1"; }
refuse_all() { [ "$all" = no ] || die 64 "unknown option --all"; }

check_client() {
    case $1 in
    '' | *[!A-Za-z0-9_-]*) die 64 "a client id has 1 to 64 characters of A-Z a-z 0-9 _ -" ;;
    esac
    [ ${#1} -le 64 ] || die 64 "a client id has 1 to 64 characters; this one has ${#1}"
}

check_root() {
    case $topic_root in
    '' | *[!A-Za-z0-9_=/-]* | /* | */ | *//* | */*/*/*/*)
        die 64 "a topic root has 1 to 4 levels of A-Z a-z 0-9 _ - = with / between them, for example acme/eu/tracking" ;;
    esac
    [ ${#topic_root} -le 256 ] || die 64 "a topic root has at most 256 characters; this one has ${#topic_root}"
}

# Writes a trackable id as one topic level: A-Z a-z 0-9 _ - as they are, every other byte and a leading _ as = and two
# upper-case hexadecimal digits.
topic_level() {
    printf %s "$1" | od -An -v -tx1 | tr a-f A-F | awk -v program="$program" '
        function die(message) { print program ": " message > "/dev/stderr"; failed = 64; exit failed }
        function value(hex) {
            return 16 * (index(digits, substr(hex, 1, 1)) - 1) + index(digits, substr(hex, 2, 1)) - 1
        }
        BEGIN { digits = "0123456789ABCDEF" }
        { for (i = 1; i <= NF; i++) byte[++count] = $i }
        END {
            if (failed) exit failed
            if (count < 1 || count > 128)
                die("a trackable id has 1 to 128 bytes of UTF-8; this one has " count + 0)
            low = 128; high = 191
            for (i = 1; i <= count; i++) {
                b = value(byte[i])
                if (follow > 0) {
                    if (b < low || b > high) die("a trackable id is UTF-8; this one is not")
                    if (follow == 1 && lead == 194 && b < 160) control = 1
                    follow--; low = 128; high = 191
                } else if (b >= 128) {
                    lead = b
                    follow = b < 194 || b > 244 ? -1 : b < 224 ? 1 : b < 240 ? 2 : 3
                    if (follow < 0) die("a trackable id is UTF-8; this one is not")
                    if (b == 224) low = 160
                    if (b == 237) high = 159
                    if (b == 240) low = 144
                    if (b == 244) high = 143
                } else if (b < 32 || b == 127) control = 1
                plain = (b >= 48 && b <= 57) || (b >= 65 && b <= 90) || (b >= 97 && b <= 122) || b == 45 || b == 95
                level = level (plain && !(i == 1 && b == 95) ? sprintf("%c", b) : "=" byte[i])
            }
            if (follow > 0) die("a trackable id is UTF-8; this one is not")
            if (control) die("a trackable id has no control characters; this one has one")
            print level
        }'
}

# grant read|write TOPIC…: remembers lines for the user; the topics are beneath the root.
grant() {
    access=$1
    shift
    for topic; do grant_elsewhere "$access" "$topic_root/$topic"; done
}

# The same, of topics that are not beneath the root.
grant_elsewhere() {
    access=$1
    shift
    for topic; do
        lines="${lines}topic $access $topic
"
    done
}

# supersede read|write TOPIC…: remembers lines that earlier versions wrote for the user; write_grants removes them.
supersede() {
    access=$1
    shift
    for topic; do
        superseded="${superseded}topic $access $topic_root/$topic
"
    done
}

# The topics of a trackable that watchers and recorders read. Commands and their answers are not among them: they contain
# places.
readable_topics='enhanced journey estimate raw history publisher/+ subscriber/+ request/+ resolution trip event ack/+'

# grant_reading LEVEL: lets the user read everything about the trackable of this topic level but the commands.
grant_reading() {
    grant read "$1"
    for topic in $readable_topics; do grant read "$1/$topic"; done
}

# Writes the credentials and the remembered grants, one run at a time, each file whole or not at all. With `like` the user has
# the password of that one.
finish() {
    exec 9<"$dir"
    if command -v flock >/dev/null; then flock 9; fi
    if [ "$cert" = yes ]; then
        make_certificate
    else
        make_password
    fi
    write_grants
    if [ -d "$dir/data" ]; then keep_owner "$dir/data" "$dir/data"; fi # the broker writes there
    echo "$program: $name is in $dir; now make the broker read it: $(reload_command)" >&2
}

# The command that makes the brokers of the directory read their files again. The scripts that start several brokers note it.
reload_command() { cat "$dir/reload" 2>/dev/null || echo 'kill -HUP its process'; }

# The program whose users these are: mosquitto, or the one that a script of cluster/ has noted.
engine() { cat "$dir/engine" 2>/dev/null || echo mosquitto; }

make_certificate() {
    [ "$(engine)" = mosquitto ] ||
        die 64 "cannot add $name with a certificate: the users of $(engine) in $dir have passwords. Leave --cert out"
    if [ -e "$dir/certs/clients/$name.crt" ]; then
        echo "$program: $name keeps its certificate" >&2
    else
        "$here/certs/generate.sh" --dir "$dir/certs" client "$name"
    fi
    [ -e "$dir/passwords" ] || new_file "$dir/passwords" # the broker does not start without the file
}

make_password() {
    if [ "$password_stdin" = yes ]; then
        [ -z "$password" ] || die 64 "--password-stdin and GODWIT_PASSWORD exclude each other"
        IFS= read -r password || [ -n "$password" ] || die 64 "no password on standard input"
        [ -n "$password" ] || die 64 "the password on standard input is empty"
        check_password
    fi
    [ -e "$dir/passwords" ] || new_file "$dir/passwords"
    generated=no hash=
    if [ -z "$password" ]; then
        if grep -q "^$name:" "$dir/passwords"; then
            echo "$program: $name keeps its password" >&2
            return
        fi
        # A password that was given before is not known here, but its hash is.
        [ -z "$like" ] || hash=$(sed -n "s/^$like://p" "$dir/passwords")
        if [ -z "$hash" ]; then
            password=$(head -c 18 /dev/urandom | base64 | tr '+/' '-_')
            generated=yes
        fi
    fi
    copy=$(mktemp "$dir/.passwords.XXXXXX")
    trap 'rm -f "$copy" "$copy.tmp"' EXIT
    cp -p "$dir/passwords" "$copy"
    if [ -n "$hash" ]; then
        awk -v line="$name:$hash" '{ print } END { print line }' "$dir/passwords" >"$copy"
        echo "$program: $name has the password of $like" >&2
    else
        "hash_for_$(engine)"
    fi
    grep -q "^$name:\\\$" "$copy" || die 1 "cannot add the password of $name: its hash was not written"
    keep_owner "$dir/passwords" "$copy"
    mv -f "$copy" "$dir/passwords"
    trap - EXIT
    if [ "$generated" = yes ]; then
        echo "$program: the password of $name, shown only now:" >&2
        echo "$password"
    fi
}

# Writes the hash of the password into the copy of the file.
hash_for_mosquitto() {
    command -v mosquitto_passwd >/dev/null || die 1 "mosquitto_passwd is not installed (Debian: apt install mosquitto)"
    # Asked for twice, on standard input: an argument would be seen in the list of processes.
    printf '%s\n%s\n' "$password" "$password" | mosquitto_passwd "$copy" "$name" >/dev/null || die 1 "mosquitto_passwd failed"
}

# The same with bcrypt, which NATS reads. Each connection and each reload costs the server one hash, so it has the lowest cost, 4;
# a password that was made here has 144 random bits.
hash_for_nats() {
    [ ${#password} -le 72 ] || die 64 "a password has at most 72 bytes with NATS; this one has ${#password}"
    hash=$(printf '%s\n' "$password" | perl -e '
        chomp(my $password = <STDIN>);
        open(my $random, "<", "/dev/urandom") or exit 1;
        read($random, my $bytes, 22) == 22 or exit 1;
        my @letters = (".", "/", "A".."Z", "a".."z", 0..9);
        print crypt($password, "\$2b\$04\$" . join("", map { $letters[ord($_) & 63] } split(//, $bytes))) // exit 1;
    ') || die 1 "cannot hash the password of $name: perl has no bcrypt here (Debian 12: apt install perl-base libcrypt1)"
    { grep -v "^$name:" "$dir/passwords" || true; echo "$name:$hash"; } >"$copy"
}

# The same with a salted SHA-256, which RabbitMQ reads. The hash is fast: a password that was made here has 144 random bits.
hash_for_rabbitmq() {
    hash=$(printf '%s\n' "$password" | perl -MDigest::SHA=sha256 -MMIME::Base64=encode_base64 -e '
        chomp(my $password = <STDIN>);
        open(my $random, "<", "/dev/urandom") or exit 1;
        read($random, my $salt, 4) == 4 or exit 1;
        print encode_base64($salt . sha256($salt . $password), "");
    ') || die 1 "cannot hash the password of $name: perl is not complete here (Debian: apt install perl)"
    { grep -v "^$name:" "$dir/passwords" || true; echo "$name:\$sha256\$$hash"; } >"$copy"
}

# Adds the missing lines to the user's section and removes superseded ones. A new root gets the lines of everyone. A device
# may answer the operators of its trackables, each under the operator's name, and a gateway that reads commands those of every
# trackable: the lines for that are added to the section of the device, whichever of the two is added first.
write_grants() {
    copy=$(mktemp "$dir/.acl.XXXXXX")
    trap 'rm -f "$copy"' EXIT
    cp -p "$dir/acl.conf" "$copy"
    common="pattern write $topic_root/_clients/%u
pattern read $topic_root/_clients/+
pattern deny $topic_root/_clients/+/+/#
"
    user=$name role=${program#add-} wanted=$lines superseded=$superseded common=$common root=$topic_root levels=$levels \
        awk '
        function want(user, words) {
            if ((user, words) in have) return
            have[user, words] = 1
            added[user] = added[user] words "\n"
        }
        # The devices of a trackable answer its operators.
        function connect(device, operator, topic) {
            if ((operator, "topic write " topic "/command") in have && publishes(device, topic))
                want(device, "topic write " topic "/command/" operator)
        }
        function publishes(device, topic) {
            return (device, "topic write " topic "/publisher/" device) in have ||
                (device, "topic write " root "/+/publisher/" device) in have &&
                (device, "topic read " root "/+/command") in have
        }
        BEGIN {
            own = ENVIRON["user"]; role = ENVIRON["role"]; root = ENVIRON["root"]; levels = ENVIRON["levels"]
            count = split(ENVIRON["superseded"], rule, "\n")
            for (i = 1; i < count; i++) old[rule[i]] = 1
        }
        { words = $1 " " $2 " " $3 }
        $1 == "topic" && user == own && words in old { next }
        { line[++last] = $0 }
        $1 == "pattern" { known[words] = 1 }
        $1 == "user" { if (!first) first = last; user = $2; users[user] = 1; end[user] = last }
        # The trackables of every operator. A gateway that sends commands to all reads the answers in the events.
        role == "gateway" && $1 " " $2 == "topic write" && index($3, root "/") == 1 && $3 ~ /[^+]\/command$/ {
            levels = levels " " substr($3, length(root) + 2, length($3) - length(root) - 9)
        }
        $1 == "topic" && user != "" { have[user, words] = 1; end[user] = last }
        END {
            count = split(ENVIRON["common"], rule, "\n")
            for (i = 1; i < count; i++) if (!(rule[i] in known)) patterns = patterns rule[i] "\n"
            count = split(ENVIRON["wanted"], rule, "\n")
            for (i = 1; i < count; i++) want(own, rule[i])
            users[own] = 1
            count = role ~ /^(device|gateway|operator)$/ ? split(levels, level, " ") : 0
            for (i = 1; i <= count; i++) for (other in users) {
                if (role == "operator") connect(other, own, root "/" level[i])
                else connect(own, other, root "/" level[i])
            }
            for (other in end) after[end[other]] = other
            for (i = 1; i <= last; i++) {
                if (i == first && patterns) printf "%s\n", patterns
                print line[i]
                if (i in after) printf "%s", added[after[i]]
            }
            if (!first) printf "%s", patterns
            if (!(own in end)) printf "\n# %s\nuser %s\n%s", role, own, added[own]
        }' "$dir/acl.conf" >"$copy"
    keep_owner "$dir/acl.conf" "$copy"
    mv -f "$copy" "$dir/acl.conf"
    trap - EXIT
}

# Makes an empty file that belongs to whoever owns the directory, or to the broker where that is root.
new_file() {
    : >"$1"
    keep_owner "$dir" "$1"
    chmod 600 "$1"
}

# keep_owner MODEL FILE: only root can, and only root has to. What would be root's is the broker's, which gives up being root
# before it reads its files.
keep_owner() {
    [ "$(id -u)" = 0 ] || return 0
    owner=$(ls -ldn "$1" | awk '{ print $3 ":" $4 }')
    case $owner in
    0:*) if id mosquitto >/dev/null 2>&1; then owner=mosquitto:$(id -g mosquitto); fi ;;
    esac
    chown "$owner" "$2"
}
