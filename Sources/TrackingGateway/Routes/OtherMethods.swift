import HTTPTypes
import Hummingbird

/// Answers 405 with the supported methods if a path does not support the method of a request.
enum OtherMethods {
    /// The methods of HTTP itself. Methods of extensions and unknown methods get 404.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query,
    ]

    /// Adds the other methods to every path of a router. Call it after all other routes were added.
    static func add(to router: Router<GatewayRequestContext>) {
        for (path, routes) in Dictionary(grouping: router.routes, by: \.path.description) {
            var has = Set(routes.map(\.method))
            // The router answers HEAD on every path with GET.
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
