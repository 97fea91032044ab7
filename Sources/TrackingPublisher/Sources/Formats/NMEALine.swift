import TrackingCore

/// What a line from a receiver turned out to be.
enum NMEALine: Hashable, Sendable {
    case sentence(NMEASentence)
    /// No sentence: what and where.
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
                self = .sentence(try NMEASentence(line: text))
            } catch {
                self = .refused("line \(number) \(error)")
            }
        }
    }
}
