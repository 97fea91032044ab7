import TrackingCore

/// Parses a topic and writes it again. The text is unchanged.
func fuzzTopic(_ bytes: [UInt8]) {
    let path = "tracking/" + String(decoding: bytes, as: UTF8.self)
    if let topic = TopicRoot.standard.topic(path) {
        precondition(TopicRoot.standard.path(topic) == path)
    }
}
