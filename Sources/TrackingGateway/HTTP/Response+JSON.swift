package import Hummingbird
package import HTTPTypes
import NIOCore
package import TrackingCore

extension Response {
    /// Returns an HTTP answer with a JSON body. An answer with status 503 also has the header `Retry-After`.
    package static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [.contentType: "application/json"]
        if status == .serviceUnavailable { headers[.retryAfter] = Problem.standardRetry }
        return Response(
            status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.json)))
    }
    /// Returns an HTTP answer whose body is a JSON object.
    ///
    /// - Parameters:
    ///   - members: Members of the object, at least one.
    ///   - written: Further members, given as JSON text that is copied unchanged. None of them has the name of another
    ///     member.
    static func json(_ members: [String: JSONValue], written: [String: [UInt8]]) -> Response {
        var bytes = JSONValue.object(members).json.dropLast()
        for (name, json) in written.sorted(by: { $0.key < $1.key }) {
            bytes += Array(",".utf8) + JSONValue.text(name).json + Array(":".utf8) + json
        }
        bytes.append(UInt8(ascii: "}"))
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
