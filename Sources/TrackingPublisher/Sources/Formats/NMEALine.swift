import TrackingCore

/// The result of parsing one line from a receiver or a recording: a sentence, a rejection, or nothing.
enum NMEALine: Hashable, Sendable {
    case sentence(NMEASentence)
    /// A sentence with an impossible date or position, which is left out, and the reason with the line number. Its
    /// other values are used.
    case doubted(NMEASentence, String)
    /// A rejected line: it is too long, it is no sentence, or its time is impossible. The text is the reason with the
    /// line number.
    case refused(String)
    /// A blank line or a comment (`#`), as in recordings.
    case nothing

    /// Parses and checks one line from a receiver or a recording.
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
                self = .refused("line \(number): \(error)")
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
        let reason = "line \(number): the sentence \(fields[0].text.prefix(16)) has an impossible \(what)"
        // A sentence with an impossible time belongs to no epoch.
        self = impossible.contains(.time) ? .refused(reason) : .doubted(sentence, reason)
    }
}
