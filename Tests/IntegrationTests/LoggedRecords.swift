import TrackingCore

extension RunningProgram {
    /// The records that an agent with `--log-level trace` said it had written, by name.
    var loggedRecords: Set<TestRecorder.Name> {
        var names: Set<TestRecorder.Name> = []
        for line in self.errors.split(separator: "\n") {
            guard let match = line.firstMatch(of: #/seqs=([0-9\- ]+?) stream=([a-z0-9]+).* logged/#),
                let stream = StreamID(String(match.2))
            else { continue }
            for range in match.1.split(separator: " ") {
                let bounds = range.split(separator: "-").compactMap { UInt64($0) }
                for seq in bounds[0]...bounds[bounds.count - 1] { names.insert(.init(stream: stream, seq: seq)) }
            }
        }
        return names
    }
}
