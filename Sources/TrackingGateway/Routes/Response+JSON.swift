package import Hummingbird
package import HTTPTypes
import NIOCore
package import TrackingCore

extension Response {
    /// An answer in JSON.
    package static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.json)))
    }
}
