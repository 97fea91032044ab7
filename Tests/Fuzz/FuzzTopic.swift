import TrackingCore

/// A topic that is read is written the same.
func fuzzTopic(_ bytes: [UInt8]) {
    let path = "tracking/" + String(decoding: bytes, as: UTF8.self)
    if let topic = TopicRoot.standard.topic(path) {
        precondition(TopicRoot.standard.path(topic) == path)
    }
}
