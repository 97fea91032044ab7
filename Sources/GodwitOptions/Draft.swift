private import SystemLibrary
import Synchronization

/// An unfinished file, which is removed if SIGINT, SIGTERM or SIGHUP ends the program before the file is complete.
///
/// Only one draft can exist at a time.
public final class Draft {
    private typealias Paths = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    /// The address of a list of C strings that ends with `nil`; 0 without a draft.
    private static let paths = Atomic<UInt>(0)

    /// Begins to remove these files on a signal. They need not exist yet.
    public init(_ paths: String...) {
        // Never freed: a signal may arrive at any moment and read it.
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

    /// Removes the files. A signal handler calls it, so that it takes neither memory nor a lock.
    private static func remove() {
        guard var next = Paths(bitPattern: self.paths.load(ordering: .acquiring)) else { return }
        while let path = next.pointee {
            unlink(path)
            next += 1
        }
    }

    /// `true` if the signal has its default action. It is ignored, for example, under `nohup`.
    private static func endsTheProgram(_ number: Int32) -> Bool {
        var action = sigaction()
        return sigaction(number, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_DFL, to: Int.self)
    }
}
