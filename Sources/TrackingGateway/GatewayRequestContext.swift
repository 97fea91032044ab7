package import Hummingbird
package import NIOCore

/// What is known of a request while it is answered.
package struct GatewayRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Who asks; `nil` where no token was needed.
    package var caller: Caller?
    /// The most bytes of a body that are read.
    package var maxUploadSize = 8_388_608
    /// The connection.
    package let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }

    /// Who asks.
    ///
    /// - Throws: A problem where nobody known does.
    package func requireCaller() throws(Problem) -> Caller {
        guard let caller = self.caller else { throw .unauthorized }
        return caller
    }
}
