#!/bin/sh
# Makes the certificates of a broker and its clients: a CA of its own, P-256 keys, files that only their owner can read.
set -eu
umask 077
export LC_ALL=C

dir=$(cd "$(dirname "$0")" && pwd)
days= force=no

usage='usage: generate.sh [options] ca [TITLE]               ca.crt, ca.key, ca.crl (valid for 3650 days)
       generate.sh [options] server HOST...          server.crt, server.key: every name and address clients use
       generate.sh [options] node HOST...            node.crt, node.key: for connections between the nodes of a cluster
       generate.sh [options] client NAME             clients/NAME.crt, clients/NAME.key; CN is the user name
       generate.sh [options] revoke NAME             puts the certificate of a client, and those before it, on ca.crl

  --dir DIR   where the files are (default: beside this file)
  --days N    how long the new certificate is valid (default: 825)
  --force     replace files that exist: this is how a certificate is renewed

Renewing: `generate.sh --force server HOST...`, `generate.sh --force client NAME` and bring the two files to the client.
A new CA (`--force ca`) makes every certificate of the old one worthless: all are made again.
The broker reads its certificate and ca.crl again on SIGHUP; clients that are connected stay connected.
ca.key signs: where more than a trial is at stake, keep it off the machine of the broker.'

die() {
    echo "generate.sh: $2" >&2
    exit "$1"
}

check_client() {
    case $1 in
    '' | *[!A-Za-z0-9_-]*) die 64 "a client id has 1 to 64 characters of A-Z a-z 0-9 _ -" ;;
    esac
    [ ${#1} -le 64 ] || die 64 "a client id has 1 to 64 characters; this one has ${#1}"
}

# Prints a host as a subject alternative name.
alternative_name() {
    case $1 in
    '' | *[!A-Za-z0-9.:*-]*) die 64 "'$1' is neither a host name nor an address" ;;
    *:*) echo "IP:$1" ;;
    *[!0-9.]*) echo "DNS:$1" ;;
    *) echo "IP:$1" ;;
    esac
}

refuse_to_overwrite() {
    for file; do
        if [ -e "$dir/$file" ] && [ "$force" = no ]; then
            die 1 "$file exists; --force replaces it"
        fi
    done
}

need_authority() {
    for file in ca.crt ca.key; do
        [ -r "$dir/$file" ] || die 66 "no $file in $dir: run 'generate.sh ca' first, or bring it here to sign"
    done
}

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

# sign COMMON-NAME EXTENSIONS: makes $work/key and $work/crt.
sign() {
    new_key "$work/key"
    printf '%s\n' 'basicConstraints = critical, CA:FALSE' 'keyUsage = critical, digitalSignature' \
        'subjectKeyIdentifier = hash' 'authorityKeyIdentifier = keyid' "$2" >"$work/extensions"
    openssl req -new -config "$work/openssl.cnf" -key "$work/key" -subj "/CN=$1" -out "$work/csr"
    openssl x509 -req -in "$work/csr" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -set_serial "0x$(openssl rand -hex 15)" \
        -sha256 -days "${days:-825}" -extfile "$work/extensions" -out "$work/crt" 2>/dev/null ||
        die 1 "openssl could not sign for $1; do ca.crt and ca.key belong together?"
}

# install_file FROM TO: moves a file into place; made by root, it belongs to whoever owns the directory. The broker's own key
# belongs to the broker where that is root: it gives up being root before it reads its files.
install_file() {
    if [ "$(id -u)" = 0 ]; then
        owner=$(ls -ldn "$dir" | awk '{ print $3 ":" $4 }')
        case $2,$owner in
        server.key,0:*) if id mosquitto >/dev/null 2>&1; then owner=mosquitto:$(id -g mosquitto); fi ;;
        esac
        chown "$owner" "$work/$1"
    fi
    mv -f "$work/$1" "$dir/$2"
    echo "generate.sh: made $2" >&2
}

# The list of revoked certificates, from revoked.txt. It is valid for as long as a CA: an expired list would lock out all.
new_list() {
    openssl ca -config "$work/openssl.cnf" -gencrl -out "$work/crl" 2>/dev/null || die 1 "openssl could not make ca.crl"
    chmod 644 "$work/crl"
    install_file revoked.txt revoked.txt
    install_file crl ca.crl
}

make_authority() {
    refuse_to_overwrite ca.crt ca.key ca.crl
    new_key "$work/key"
    openssl req -x509 -new -config "$work/openssl.cnf" -extensions authority -key "$work/key" -sha256 \
        -subj "/CN=$1" -days "${days:-3650}" -out "$work/crt"
    cp "$work/key" "$work/ca.key" && cp "$work/crt" "$work/ca.crt"
    sed 's|\.\./ca|ca|' "$work/openssl.cnf" >"$work/new.cnf" && mv "$work/new.cnf" "$work/openssl.cnf"
    : >"$work/revoked.txt"
    new_list
    chmod 644 "$work/crt"
    install_file key ca.key
    install_file crt ca.crt
}

make_server() {
    [ $# -gt 0 ] || die 64 "which HOST? Name every host name and address that clients use"
    names=
    for host; do
        entry=$(alternative_name "$host") || exit 64
        names="$names${names:+, }$entry"
    done
    refuse_to_overwrite "$command.crt" "$command.key"
    need_authority
    # A node of a cluster accepts connections of other nodes, and makes some.
    case $command in node) purposes=serverAuth,clientAuth ;; *) purposes=serverAuth ;; esac
    sign broker "extendedKeyUsage = $purposes
subjectAltName = $names"
    chmod 644 "$work/crt"
    install_file key "$command.key"
    install_file crt "$command.crt"
}

make_client() {
    check_client "$1"
    refuse_to_overwrite "clients/$1.crt" "clients/$1.key"
    need_authority
    if [ ! -d "$dir/clients" ]; then
        mkdir "$work/clients"
        install_file clients clients
    fi
    sign "$1" 'extendedKeyUsage = clientAuth'
    chmod 644 "$work/crt"
    keep_former "$1"
    install_file key "clients/$1.key"
    install_file crt "clients/$1.crt"
}

# A certificate that is renewed is still good: it is kept, so that it can be revoked with the new one.
keep_former() {
    [ -r "$dir/clients/$1.crt" ] || return 0
    cp "$dir/clients/$1.crt" "$work/former"
    install_file former "clients/$1.$(openssl x509 -noout -serial -in "$work/former" | cut -d = -f 2).former.crt"
}

revoke() {
    check_client "$1"
    need_authority
    [ -r "$dir/clients/$1.crt" ] || die 66 "no clients/$1.crt in $dir"
    if [ -e "$dir/revoked.txt" ]; then cp "$dir/revoked.txt" "$work/revoked.txt"; else : >"$work/revoked.txt"; fi
    for certificate in "$dir/clients/$1.crt" "$dir/clients/$1".*.former.crt; do
        [ -r "$certificate" ] || continue
        openssl ca -config "$work/openssl.cnf" -revoke "$certificate" 2>"$work/reason" ||
            die 1 "openssl could not revoke $1: $(grep -v '^Using' "$work/reason" | head -n 1)"
    done
    new_list
    mv -f "$dir/clients/$1.crt" "$dir/clients/$1.revoked.crt"
    rm -f "$dir/clients/$1.key" "$dir/clients/$1".*.former.crt
    echo "generate.sh: $1 is revoked; now make the broker read ca.crl: kill -HUP its process" >&2
}

options=yes
while [ $# -gt 0 ] && [ "$options" = yes ]; do
    case $1 in
    -h | --help) echo "$usage"; exit 0 ;;
    --force) force=yes; shift ;;
    --dir=*) dir=${1#*=}; shift ;;
    --days=*) days=${1#*=}; shift ;;
    --dir | --days)
        [ $# -gt 1 ] || die 64 "$1 needs a value"
        case $1 in --dir) dir=$2 ;; --days) days=$2 ;; esac
        shift 2
        ;;
    -*) die 64 "unknown option $1" ;;
    *) options=no ;;
    esac
done
[ $# -gt 0 ] || { echo "$usage" >&2; exit 64; }
case $days in *[!0-9]* | 0*) die 64 "--days is a whole number from 1" ;; esac
[ -d "$dir" ] || die 66 "no directory $dir"
dir=$(cd "$dir" && pwd)
command -v openssl >/dev/null || die 1 "openssl is not installed"

# Beside the result, so that moving a file into place is one step and no key lies anywhere else.
work=$(mktemp -d "$dir/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# Its files are named without the folder, in whose name openssl would expand some characters.
cd "$work"
cat >openssl.cnf <<END
[req]
distinguished_name = name
prompt = no
[name]
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[ca]
default_ca = here
[here]
database = revoked.txt
certificate = ../ca.crt
private_key = ../ca.key
default_md = sha256
default_crl_days = 3650
END
echo 'unique_subject = no' >"$work/revoked.txt.attr"

command=$1
shift
case $command in
ca)
    [ $# -le 1 ] || die 64 "ca takes at most one TITLE"
    case ${1:-} in *[!A-Za-z0-9._\ -]*) die 64 "a title has letters, digits, spaces and . _ -" ;; esac
    make_authority "${1:-Godwit CA}"
    ;;
server | node) make_server "$@" ;;
client | revoke)
    [ $# = 1 ] || die 64 "$command takes one NAME"
    if [ "$command" = client ]; then make_client "$1"; else revoke "$1"; fi
    ;;
*) die 64 "unknown command $command (generate.sh --help)" ;;
esac
