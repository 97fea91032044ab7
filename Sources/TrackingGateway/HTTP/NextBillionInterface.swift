import NIOHTTP1
import TrackingCore

/// The part of NextBillion.ai's HTTP interface that the gateway has, for programs with NextBillion.ai's SDK: its paths,
/// the parameter with the token, and the form of the answers.
enum NextBillionInterface {
    /// The query parameter with the token. NextBillion.ai's SDK adds it to every request.
    static let key = "key"

    /// Returns `true` if the path of a request belongs to NextBillion.ai's interface for assets.
    static func contains(_ path: String) -> Bool {
        path.split(separator: "/", maxSplits: 1).first == "skynet"
    }

    /// The body of an answer to a request that succeeded.
    static let success = JSONValue.object(["status": .text("Ok")])

    /// Returns the body of an answer to a request that failed.
    ///
    /// - Parameters:
    ///   - status: The HTTP status of the answer, such as 400.
    ///   - message: The text for people; `nil` if the status explains itself.
    static func failure(_ status: Int, _ message: String?) -> JSONValue {
        let phrase = HTTPResponseStatus(statusCode: status).reasonPhrase
        return .object(["status": .text(phrase), "message": .text(Self.message(status) ?? message ?? phrase)])
    }

    /// Returns the text for people of a status whose text differs from that on other paths; `nil` for other statuses.
    /// The parameter with the token has another name, and most paths of NextBillion.ai's interface do not exist here.
    private static func message(_ status: Int) -> String? {
        switch status {
        case 401: "This request needs a valid token of the gateway in the parameter: key=TOKEN"
        case 404: "The gateway has only this path of NextBillion.ai's interface: POST /skynet/asset/ID/track"
        default: nil
        }
    }
}
