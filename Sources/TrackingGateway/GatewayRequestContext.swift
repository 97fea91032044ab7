package import Hummingbird
package import NIOCore

/// What is known of a request while it is answered.
package struct GatewayRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Who asks; `nil` where no token was needed.
    package var caller: Caller?
    /// The connection; to cut off whoever does not read.
    package let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }
}
