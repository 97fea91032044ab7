import TrackingCore

/// What a line from a receiver turned out to be.
enum NMEALine: Hashable, Sendable {
    case sentence(NMEASentence)
    /// A sentence that tells something that cannot be: what and where. The rest of it stands.
    case doubted(NMEASentence, String)
    /// No sentence, or one of no moment: what and where.
    case refused(String)
    /// A blank line or a comment (`#`), as recordings have them.
    case nothing

    /// Reads a line.
    init(_ line: LineSplitter.Line) {
        switch line {
        case .tooLong(let number): self = .refused("line \(number) is longer than \(LineSplitter.limit) bytes")
        case .text(let text, let number):
            guard let first = text.first, first != UInt8(ascii: "#") else {
                self = .nothing
                return
            }
            do throws(NMEASentence.Refusal) {
                let fields = try NMEASentence.fields(of: text)
                self.init(NMEASentence(fields), fields, number: number)
            } catch {
                self = .refused("line \(number) \(error)")
            }
        }
    }

    private init(_ sentence: NMEASentence, _ fields: [NMEAField], number: Int) {
        let impossible = sentence.impossible(in: fields)
        guard !impossible.isEmpty else {
            self = .sentence(sentence)
            return
        }
        let what = impossible.map(\.rawValue).joined(separator: " and ")
        let reason = "line \(number) tells an impossible \(what) (\(fields[0].text.prefix(16)))"
        // What it tells belongs to no epoch then.
        self = impossible.contains(.time) ? .refused(reason) : .doubted(sentence, reason)
    }
}
