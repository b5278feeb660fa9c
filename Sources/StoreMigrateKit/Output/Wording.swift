// Numbers, columns and sentences that several reports share.

/// Returns a size such as `33 kB`, `1.5 MB`, `214.0 GB`.
func megabytes(_ bytes: Int) -> String {
  switch bytes {
  case ..<1_000_000: "\((bytes + 999) / 1000) kB"
  case ..<10_000_000_000: tenths(bytes, of: 1_000_000) + " MB"
  default: tenths(bytes, of: 1_000_000_000) + " GB"
  }
}

private func tenths(_ bytes: Int, of unit: Int) -> String {
  let tenths = (bytes + unit / 20) / (unit / 10)
  return "\(tenths / 10).\(tenths % 10)"
}

func numbered(_ step: Int) -> String {
  let digits = String(step)
  return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

/// Returns the text for a change of the version: a line for the backup and for each step, and the present
/// version.
func changed(
  _ store: StoreSummary, to version: Int, backup: String?, undone: [String] = [], applied: [String] = [],
  seconds: Double
) -> String {
  let line = { (verb: String, object: String) in
    "\(padded(verb, undone.isEmpty ? 7 : 11))  \(object)"
  }
  return
    ((backup.map { [line("backup", $0)] } ?? []) + undone.map { line("rolled back", $0) }
    + applied.map { line("applied", $0) }
    + ["\(store.path) is at version \(version) (\((seconds * 100).rounded() / 100) s)."])
    .joined(separator: "\n")
}

/// The end of a sentence about a version that another process brought the store to while this one waited.
let meanwhile = ": another process migrated it in the meantime."

/// Returns a text about the steps of other processes on a store, before and during the run of this process;
/// nil if there are none.
/// - Parameters:
///   - planned: The version when this process made its plan.
///   - from: The version when its run began.
///   - others: The steps that other processes ran between the steps of this run, and the verb for them,
///     such as "ran".
func doneByOthers(planned: Int, from: Int, _ others: (verb: String, steps: [String])) -> String? {
  let before =
    from == planned ? [] : ["Before this run, another process migrated the store to version \(from)."]
  let between =
    others.steps.isEmpty
    ? [] : ["During this run, another process \(others.verb) \(others.steps.joined(separator: ", "))."]
  return before.isEmpty && between.isEmpty ? nil : (before + between).joined(separator: "\n")
}

/// Returns a text with spaces after it, up to a width in cells of a terminal. A character takes one or
/// two cells.
func padded(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - CellWidth.of(text)))
}

/// Returns a number such as `312,440`.
func grouped(_ number: Int) -> String {
  let digits = String(number.magnitude)
  let parts = stride(from: digits.count, to: 0, by: -3).map { end in
    digits.prefix(end).suffix(min(3, end))
  }
  return (number < 0 ? "-" : "") + parts.reversed().joined(separator: ",")
}
