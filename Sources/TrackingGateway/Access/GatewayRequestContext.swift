package import Hummingbird
package import NIOCore

/// The context of a request while it is answered.
package struct GatewayRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The authenticated caller; `nil` for a request without one.
    package var caller: Caller?
    /// The most bytes of a body that are read.
    package var maxUploadSize = 8_388_608
    /// The connection.
    package let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }

    /// Returns the authenticated caller.
    ///
    /// - Throws: `Problem` if the request has no caller.
    package func requireCaller() throws(Problem) -> Caller {
        guard let caller = self.caller else { throw .unauthorized }
        return caller
    }
}
