import GodwitOptions
import TrackingCertificate
import TrackingCore

/// Converts a broker's certificate to a table for people or to JSON.
struct CertificatePrinter {
    /// The address of the broker, without user and password.
    let address: String
    let certificate: Certificate

    /// The certificate as a table and a sentence with the judgement. The table is never cut, because its last column has
    /// the consequences.
    var text: String {
        var table = TextTable([
            .value("check", .left), .value("verdict", .left), .value("result", .left), .value("consequence", .left),
        ])
        for finding in self.certificate.findings {
            table.append([
                finding.check.rawValue, finding.verdict.rawValue, finding.result, finding.consequence ?? TextTable.none,
            ])
        }
        let judgement = self.certificate.isUsable ? "Godwit may be used on" : "Godwit must not be used on"
        return "\(table.text(limit: nil))\(judgement) \(self.address).\n"
    }

    /// The certificate as one JSON object, with its line end.
    var json: String {
        let checks = self.certificate.findings.map { finding -> JSONValue in
            var members: [String: JSONValue] = [
                "check": .text(finding.check.rawValue), "verdict": .text(finding.verdict.rawValue),
                "result": .text(finding.result),
            ]
            members["consequence"] = finding.consequence.map { .text($0) }
            return .object(members)
        }
        let object = JSONValue.object([
            "broker": .text(self.address), "usable": .flag(self.certificate.isUsable), "checks": .list(checks),
        ])
        return String(decoding: object.json, as: UTF8.self).printableJSON + "\n"
    }
}
