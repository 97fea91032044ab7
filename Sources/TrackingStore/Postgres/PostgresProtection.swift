/// Decides how a connection to PostgreSQL is protected, that is, if it uses TLS and verifies the server. The decision
/// counts only if the address does not state it.
enum PostgresProtection {
    /// The environment variables that decide, besides the address, how a connection is protected. libpq reads them too.
    static let variables = ["PGSSLMODE", "PGSERVICE", "PGHOST", "PGHOSTADDR"]

    /// Returns the `sslmode` to set for a connection; `nil` to leave the protection to libpq.
    ///
    /// For a server on another host, the mode is `verify-full`: the server has to prove its name with a certificate.
    /// libpq decides for a socket and the loopback interface. It also decides if the address or the environment states
    /// an `sslmode` or names a service of libpq's service file.
    ///
    /// - Parameters:
    ///   - options: The options in the address, by libpq's keywords.
    ///   - environment: The environment variables.
    static func mode(options: [String: String], environment: [String: String]) -> String? {
        func value(_ keyword: String, _ variable: String) -> String? {
            [options[keyword], environment[variable]].compactMap(\.self).first { !$0.isEmpty }
        }
        let isLeftToLibpq = value("sslmode", "PGSSLMODE") != nil || value("service", "PGSERVICE") != nil
        guard !isLeftToLibpq else { return nil }
        let hosts = Self.list(value("host", "PGHOST"))
        let addresses = Self.list(value("hostaddr", "PGHOSTADDR"))
        let targets = (0..<max(hosts.count, addresses.count)).map { index in
            let address = index < addresses.count ? addresses[index] : ""
            return address.isEmpty && index < hosts.count ? hosts[index] : address
        }
        return targets.allSatisfy(Self.isLocal) ? nil : "verify-full"
    }

    private static func list(_ text: String?) -> [String] {
        text?.split(separator: ",", omittingEmptySubsequences: false).map { String($0) } ?? []
    }

    /// Returns `true` for an empty host name, a socket of this machine, and its loopback interface (`localhost`,
    /// `127.…` or `::1`).
    private static func isLocal(_ host: String) -> Bool {
        guard let first = host.first, first != "/", first != "@" else { return true }
        let bytes = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback = bytes.count == 4 && bytes[0] == "127" && bytes.allSatisfy { UInt8($0) != nil }
        return isLoopback || host == "::1" || host.lowercased() == "localhost"
    }

    /// Returns advice for the user after a connection failed because of TLS or the server's certificate; `nil` for any
    /// other failure.
    ///
    /// - Parameter message: The error text of libpq.
    static func remedy(for message: String) -> String? {
        if self.lacksRootCertificate(message) {
            return "name the certificate of the authority that signed the server's: sslrootcert=FILE in the address, "
                + "as in postgres://…?sslrootcert=/etc/ssl/certs/ca-certificates.crt"
        }
        let isUnprotected = message.contains("does not support SSL")
        let isUnproven =
            message.contains("certificate verify failed") || message.contains("does not match host name")
            || message.contains("host name must be specified for a verified")
        guard isUnprotected || isUnproven else { return nil }
        return isUnprotected
            ? "switch TLS on at the server (ssl = on); on a network that you trust, sslmode=prefer in the address does without it"
            : "name the authority's certificate with sslrootcert=FILE and the server as its certificate does; an sslmode in the address changes what is checked"
    }

    /// Returns `true` if libpq's error text states that there is no root certificate to verify the server with.
    /// Repeating the attempt does not help.
    static func lacksRootCertificate(_ message: String) -> Bool { message.contains("root certificate file") }
}
