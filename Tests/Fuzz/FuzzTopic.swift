/// A topic that is read is written the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTopic(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let path = "tracking/" + String(decoding: UnsafeBufferPointer(start: data, count: count), as: UTF8.self)
    if let topic = TopicRoot.standard.topic(path) {
        precondition(TopicRoot.standard.path(topic) == path)
    }
    return 0
}
