import Hummingbird
import HummingbirdCore
import TrackingCore

/// The parameters in the query of an HTTP request, percent-decoded, in their order.
///
/// A parameter that the route does not know is an error, because a misspelled filter must not select everything. So is
/// a repeated parameter, because each of its values would mean something else, unless its values form a list.
struct QueryParameters: Hashable, Sendable {
    private let pairs: [Pair]

    private struct Pair: Hashable, Sendable {
        let name: String
        let value: String
    }

    /// The name of the parameter that presents a token. Every route accepts it.
    private static let token = "token"
    /// The names of the parameters that may be repeated: their values form one list.
    private static let lists = ["trackables", "trackable"]

    /// Reads a query without its question mark.
    ///
    /// - Parameter names: The parameters that the route accepts in addition to `token`.
    /// - Throws: `Problem` (400) that names the parameter that is unknown, repeated or not percent-encoded UTF-8.
    init(_ query: Substring, allowing names: [String]) throws(Problem) {
        var pairs: [Pair] = []
        for member in query.split(separator: "&") {
            let separator = member.firstIndex(of: "=") ?? member.endIndex
            guard let name = member[..<separator].percentDecoded, name == Self.token || names.contains(name) else {
                throw Self.unknown(String(member[..<separator]), names)
            }
            guard Self.lists.contains(name) || !pairs.contains(where: { $0.name == name }) else {
                throw Problem(.badRequest, "The parameter '\(name)' is repeated: give it once.")
            }
            guard let value = member[separator...].dropFirst().percentDecoded else {
                throw Problem(.badRequest, "The value of the parameter '\(name)' is not percent-encoded UTF-8.")
            }
            pairs.append(Pair(name: name, value: value))
        }
        self.pairs = pairs
    }

    /// Reads the query of an HTTP request.
    ///
    /// - Parameter names: The parameters that the route accepts in addition to `token`.
    /// - Throws: `Problem` (400) that names the parameter that is unknown, repeated or not percent-encoded UTF-8.
    init(of request: Request, allowing names: [String]) throws(Problem) {
        try self.init((request.uri.query ?? "")[...], allowing: names)
    }

    private static func unknown(_ name: String, _ names: [String]) -> Problem {
        let known = names.isEmpty ? "token only" : names.joined(separator: ", ")
        return Problem(.badRequest, "The parameter '\(name.prefix(80))' is unknown here. Known parameters: \(known).")
    }

    /// The value of a parameter, the first one of a list; `nil` if the request does not have it.
    subscript(name: String) -> String? { self.pairs.first { $0.name == name }?.value }

    /// Returns all values of a parameter that may be repeated, in their order.
    func all(_ name: String) -> [String] { self.pairs.filter { $0.name == name }.map(\.value) }
}
