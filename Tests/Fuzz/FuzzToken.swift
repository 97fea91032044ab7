import TrackingCore

/// Reads the expiry of a JSON Web Token, and decodes base64 text. The result is never larger than the text allows.
func fuzzToken(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = JSONWebToken.expiry(of: text)
    _ = JSONWebToken.expiry(of: "e30.\(text).c2ln")
    if let decoded = JSONWebToken.decoded(text[...].utf8) { precondition(decoded.count <= text.utf8.count * 3 / 4) }
}
