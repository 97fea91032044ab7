package import Hummingbird

/// What is known of a request while it is answered.
package struct GatewayRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Who asks; `nil` where no token was needed.
    package var caller: Caller?

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
    }
}
