/// Decides how a connection to PostgreSQL is protected, that is, if it uses TLS and verifies the server. The decision
/// counts only if the address does not state it.
enum PostgresProtection {
    /// The environment variables that affect the decision.
    static let variables = ["PGSSLMODE", "PGSERVICE", "PGHOST", "PGHOSTADDR"]

    /// Returns the `sslmode` of a connection whose address and environment state none; `nil` leaves it to libpq.
    ///
    /// A server on another host has to prove its name with a certificate (`verify-full`). Sockets and the loopback
    /// interface keep libpq's default. A service of libpq's service file is left to that file.
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

    /// Returns `true` for a host that is a socket of this machine or its loopback interface.
    private static func isLocal(_ host: String) -> Bool {
        guard let first = host.first, first != "/", first != "@" else { return true }
        let bytes = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback = bytes.count == 4 && bytes[0] == "127" && bytes.allSatisfy { UInt8($0) != nil }
        return isLoopback || host == "::1" || host.lowercased() == "localhost"
    }

    /// Returns the remedy for a connection that failed because of its protection; `nil` for any other failure.
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
