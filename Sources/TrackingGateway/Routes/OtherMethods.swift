import HTTPTypes
import Hummingbird

/// Answers a request with 405 and the supported methods if its path exists but does not support its method.
enum OtherMethods {
    /// The methods that get 405 on a path that does not support them: those of RFC 9110, PATCH and QUERY. A request
    /// with a method that is not in this list gets 404.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query,
    ]

    /// Adds routes that answer 405 for every path of the router and every method of ``methods`` that the path does not
    /// support. Call this function after all other routes were added.
    static func add(to router: Router<GatewayRequestContext>) {
        for (path, routes) in Dictionary(grouping: router.routes, by: \.path.description) {
            var has = Set(routes.map(\.method))
            // The router answers HEAD on every path with GET.
            if has.contains(.get) { has.insert(.head) }
            let problem = Problem(
                .methodNotAllowed,
                "This path does not support the method of the request: the header Allow lists the supported methods.",
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
