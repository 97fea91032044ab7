import HTTPTypes
import Hummingbird

/// Answers the methods that a path does not have with 405, and the ones that it has.
enum OtherMethods {
    /// Those of HTTP itself; what only extensions know is not found, like what nobody knows.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query,
    ]

    /// Adds them to every path of a router; nothing is added to it after that.
    static func add(to router: Router<GatewayRequestContext>) {
        for (path, routes) in Dictionary(grouping: router.routes, by: \.path.description) {
            var has = Set(routes.map(\.method))
            // What answers GET answers HEAD: the router sees to it.
            if has.contains(.get) { has.insert(.head) }
            let problem = Problem(
                .methodNotAllowed, "There is something here, but not for this method: see Allow.",
                headers: [.allow: self.methods.filter(has.contains).map(\.rawValue).joined(separator: ", ")])
            for method in self.methods where !has.contains(method) {
                router.on(RouterPath(path), method: method) { _, _ -> Response in throw problem }
            }
        }
    }
}

extension HTTPRequest.Method {
    fileprivate static var query: Self { Self("QUERY")! }  // a token, as names are
}
