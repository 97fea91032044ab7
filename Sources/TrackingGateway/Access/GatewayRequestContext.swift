package import Hummingbird
package import NIOCore

/// The context of one HTTP request: its caller, its limit of body bytes and its connection.
package struct GatewayRequestContext: RequestContext {
    /// The part of the request's context that the router of the HTTP library Hummingbird uses.
    package var coreContext: CoreRequestContextStorage
    /// The authenticated caller of the request; `nil` for a request without a token or a valid session, and for a
    /// public file.
    package var caller: Caller?
    /// The largest number of bytes of the request's body that the gateway reads.
    package var maxUploadSize = 8_388_608
    /// The network connection over which the request arrived.
    package let channel: any Channel

    /// Creates the context of a request without a caller.
    ///
    /// - Parameter source: The connection and logger of the request.
    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }

    /// Returns the authenticated caller of the request.
    ///
    /// - Throws: `Problem` (401) for a request without a caller.
    package func requireCaller() throws(Problem) -> Caller {
        guard let caller = self.caller else { throw .unauthorized }
        return caller
    }
}
