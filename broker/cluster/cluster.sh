# Functions of the scripts of clusters; read by them, not run. POSIX sh.
#
# They set `engine`, `kept_ports` and `remote_ports`, and define:
#     check_given_ports   refuses wrong --ports
#     configure NUMBER    writes the configuration of a node into its folder
#     need_programs       fails if a program is missing
#     write_users         makes the engine's users from acl.conf and passwords
#     start NODE          starts a node, and writes its process id to NODE/pid
#     mark_of NODE        prints a text in the command line of the node's process
#     is_healthy NODE     succeeds if a node serves clients
#     state_of NODE       prints why it does not
#     log_of NODE         prints the path of its log
#     reload              lets the running nodes read the users again

program=cluster/$engine dir=${GODWIT_BROKER_DIR:-$here/cluster/$engine-nodes}
hosts= bind= ports= only= given=
nodes='n1 n2 n3'
patience=120 # seconds until a node that was started is healthy

usage="usage: cluster/$engine up [options] [NODE…]         starts the nodes that do not run, and lets all read the users again
       cluster/$engine down [--dir DIR] [NODE…]    ends the nodes in order
       cluster/$engine status [--dir DIR] [NODE…]  prints the state of each node; ends with 1 if one is not healthy
       cluster/$engine add [--dir DIR] ROLE …      adds a user with add-ROLE (device, watcher, recorder, …), and lets the nodes
                                            read it$usage_more

The nodes are n1, n2 and n3. The first start makes their folder: acl.conf and passwords, from which the users are made, certs/, and
a configuration for each node. Later starts use this configuration, and take no options but --dir.

  --dir DIR          the folder of the cluster            (GODWIT_BROKER_DIR; default: $engine-nodes/ beside this file)
  --topic-root ROOT  the topic root of the users           (GODWIT_TOPIC_ROOT; default: tracking)
  --hosts A,B,C      the name or address of each node      (default: localhost,localhost,localhost)
  --bind ADDRESS     the address that the nodes listen on  (default: 127.0.0.1; with --hosts all addresses)
  --ports N,…        $usage_ports
                     (default: $kept_ports; with --hosts $remote_ports)"

# Reads the options and the nodes into the variables above.
read_options() {
    while [ $# -gt 0 ]; do
        case $1 in
        -h | --help) echo "$usage"; exit 0 ;;
        --dir | --topic-root | --hosts | --bind | --ports)
            [ $# -gt 1 ] || die 64 "$1 needs a value"
            case $1 in
            --dir) dir=$2 ;;
            --topic-root) topic_root=$2 given=$1 ;;
            --hosts) hosts=$2 given=$1 ;;
            --bind) bind=$2 given=$1 ;;
            --ports) ports=$2 given=$1 ;;
            esac
            shift 2
            ;;
        n1 | n2 | n3) only="$only $1"; shift ;;
        *) die 64 "unknown argument '$1' (cluster/$engine --help)" ;;
        esac
    done
    [ "$command" = up ] || [ -z "$given" ] || die 64 "$given is an option of cluster/$engine up"
}

# The folder of the cluster, made once.
make_files() {
    check_root
    if [ -n "$hosts" ]; then
        ports=${ports:-$remote_ports}
    else
        hosts=localhost,localhost,localhost bind=${bind:-127.0.0.1} ports=${ports:-$kept_ports}
    fi
    [ "$(echo "$hosts" | tr , '\n' | wc -l)" = 3 ] ||
        die 64 "--hosts has three names with commas between them; not '$hosts'"
    for number in 1 2 3; do check_host "$(item "$hosts" $number)"; done
    [ -z "$bind" ] || check_host "$bind"
    check_given_ports
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd -P)
    mkdir -p "$dir/certs"
    echo "$here/cluster/$engine up --dir $dir" >"$dir/reload"
    [ -e "$dir/acl.conf" ] || sed "s|^\(pattern [a-z]* \)tracking/|\1$topic_root/|" "$here/acl.conf" >"$dir/acl.conf"
    [ -e "$dir/passwords" ] || : >"$dir/passwords"
    [ -e "$dir/certs/ca.crt" ] || "$here/certs/generate.sh" --dir "$dir/certs" ca "Godwit cluster"
    names=$(echo "$hosts" | tr , '\n' | sort -u)
    case $names in *localhost*) names="$names 127.0.0.1" ;; esac
    for kind in server node; do
        # shellcheck disable=SC2086
        [ -e "$dir/certs/$kind.crt" ] || "$here/certs/generate.sh" --dir "$dir/certs" $kind $names
    done
    for number in 1 2 3; do
        mkdir -p "$dir/n$number/data"
        configure "$number"
    done
    echo "$engine" >"$dir/engine" # last: the folder is complete
    echo "$program: made $dir" >&2
}

# `true` if two nodes are on one host, where they cannot have the same ports.
share_a_host() { [ "$(echo "$hosts" | tr , '\n' | sort -u | wc -l)" -lt 3 ]; }

is_up() { running_id "$dir/$1/pid" "$(mark_of "$1")" >/dev/null; }

healthy_or_ended() { is_healthy "$1" || ! is_up "$1"; }

up() {
    need_programs
    if [ ! -e "$dir/engine" ]; then
        make_files
    elif [ -n "$given" ]; then
        die 64 "$given has no effect: $dir has a configuration already. Leave the option out, or remove the folder $dir"
    fi
    need_folder
    write_users
    started=
    for node in ${only:-$nodes}; do
        if ! is_up "$node"; then
            start "$node"
            started="$started $node"
        fi
    done
    for node in $started; do await "$node"; done
    reload
}

# Waits until a node that was started is healthy. One of three nodes, on a machine of its own, waits for a second one.
await() {
    assist "$1"
    in_time=no
    ! wait_until "$([ -n "$only" ] && echo 30 || echo "$patience")" healthy_or_ended "$1" || in_time=yes
    is_up "$1" || die 1 "cannot start the node $1: $(tail -n 2 "$(log_of "$1")" | tr '\n' ' ')(all of it: $(log_of "$1"))"
    if [ $in_time = yes ]; then
        echo "$program: $1 runs, process $(cat "$dir/$1/pid")" >&2
    elif [ -n "$only" ]; then
        echo "$program: $1 runs, and is healthy when a second node does" >&2
    else
        die 1 "the node $1 runs and is not healthy after $patience s: $(state_of "$1"). Two of three nodes have to run; see $(log_of "$1")"
    fi
}

down() {
    for node in ${only:-$nodes}; do stop_program "$dir/$node/pid" "$(mark_of "$node")" "the node $node"; done
    for node in $nodes; do ! is_up "$node" || return 0; done
    all_ended
}

# An engine whose nodes need help to become healthy gives it here.
assist() { :; }

# An engine with a program beside its nodes ends it here.
all_ended() { :; }

status() {
    code=0
    for node in ${only:-$nodes}; do
        if ! is_up "$node"; then
            echo "$node does not run"
            code=1
        elif is_healthy "$node"; then
            echo "$node is healthy"
        else
            echo "$node is not healthy: $(state_of "$node" | tr -d '\n')"
            code=1
        fi
    done
    exit "$code"
}

# add [--dir DIR] ROLE …: the folder is given to the tool of the role.
add() {
    if [ "${1:-}" = --dir ] && [ $# -gt 1 ]; then
        dir=$2
        shift 2
    fi
    roles='device, watcher, recorder, gateway, enhancer, operator, bridge or eraser'
    [ $# -gt 0 ] || die 64 "which ROLE? $roles"
    case $1 in
    device | watcher | recorder | gateway | enhancer | operator | bridge | eraser) ;;
    *) die 64 "unknown role '$1'; a role is $roles" ;;
    esac
    role=$1
    shift
    for argument; do
        case $argument in --dir | --dir=*) die 64 "--dir comes before the role: cluster/$engine add --dir DIR $role …" ;; esac
    done
    need_folder
    GODWIT_PASSWORD=$password GODWIT_TOPIC_ROOT=$topic_root "$here/add-$role" --dir "$dir" "$@"
    password=
    write_users
    reload
}

need_folder() {
    [ -e "$dir/engine" ] ||
        die 66 "cannot use the cluster: $dir has no nodes. Run cluster/$engine up first, or give its folder with --dir"
    dir=$(cd "$dir" && pwd -P)
    [ "$(engine)" = "$engine" ] || die 66 "cannot use the cluster: $dir has nodes of $(engine). Run cluster/$(engine)"
}

# with_users PROGRAM: reads acl.conf and passwords with an awk program, which has the arrays order[1…count], hash[user], and
# the lines of topics[user, "read"], topics[user, "write"] and denied[user].
with_users() {
    awk '
        FILENAME ~ /passwords$/ { hash[substr($0, 1, index($0, ":") - 1)] = substr($0, index($0, ":") + 1); next }
        $1 == "user" && !($2 in known) { order[++count] = $2; known[$2] = 1 }
        $1 == "user" { user = $2 }
        $1 == "pattern" && $2 ~ /^(write|read)$/ { patterns[$2] = patterns[$2] $3 "\n" }
        $1 == "topic" && $2 == "deny" { denied[user] = denied[user] $3 "\n" }
        $1 == "topic" && $2 ~ /^(write|readwrite)$/ { topics[user, "write"] = topics[user, "write"] $3 "\n" }
        $1 == "topic" && $2 ~ /^(read|readwrite)$/ { topics[user, "read"] = topics[user, "read"] $3 "\n" }
        # The lines of a user for an access.
        function lines_of(user, access,    all) {
            all = patterns[access]
            gsub("%u", user, all)
            return topics[user, access] all
        }
        '"$1" "$dir/passwords" "$dir/acl.conf"
}

run_command() {
    [ $# -gt 0 ] || { echo "$usage" >&2; exit 64; }
    command=$1
    shift
    case $command in
    up) read_options "$@"; up ;;
    down | status) read_options "$@"; need_folder; "$command" ;;
    add) add "$@" ;;
    -h | --help) echo "$usage" ;;
    *) die 64 "unknown command '$command' (cluster/$engine --help)" ;;
    esac
}
