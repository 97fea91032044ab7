import Glibc

/// The limit of open files of a benchmark and of the programs that it starts.
public enum DescriptorLimit {
    /// Raises the limit to at least `needed` open files.
    ///
    /// - Throws: `BenchmarkError` if the system permits fewer open files.
    public static func raise(to needed: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_max >= rlim_t(needed) else {
            throw BenchmarkError(
                "the benchmark needs \(needed) open files, and the limit is \(limit.rlim_max). Raise it with: ulimit -Hn \(needed)"
            )
        }
        limit.rlim_cur = max(limit.rlim_cur, rlim_t(needed))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
