private import Glibc
import Synchronization

/// The file that something is written to until it is whole: where SIGINT, SIGTERM or SIGHUP ends the program before, it is removed.
///
/// One at a time.
public final class Draft {
    private typealias Paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// Where the list is, which ends with `nil`; 0 for none.
    private static let paths = Atomic<UInt>(0)

    /// Watches over a file, and what stands beside it; they need not be there yet.
    public init(_ paths: String...) {
        // Never freed: a signal may come at any moment.
        let list = Paths.allocate(capacity: paths.count + 1)
        for (index, path) in paths.enumerated() { (list + index).initialize(to: strdup(path)) }
        (list + paths.count).initialize(to: nil)
        Self.paths.store(UInt(bitPattern: list), ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] where Self.endsTheProgram(number) {
            signal(number) { number in
                Draft.remove()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    deinit { Self.paths.store(0, ordering: .releasing) }

    /// What a signal's handler may do: no memory is taken, and no lock.
    private static func remove() {
        guard var next = Paths(bitPattern: self.paths.load(ordering: .acquiring)) else { return }
        while let path = next.pointee {
            unlink(path)
            next += 1
        }
    }

    /// Not where it is ignored, as under `nohup`.
    private static func endsTheProgram(_ number: Int32) -> Bool {
        var action = sigaction()
        return sigaction(number, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_DFL, to: Int.self)
    }
}
