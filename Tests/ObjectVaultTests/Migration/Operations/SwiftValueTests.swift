// `retype … using swift`: the values that a function of the app may return, and the errors for others.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct SwiftValues {
  private func lab(_ step: String, _ functions: [MigrationTransform]) async throws -> FunctionLab {
    try await FunctionLab([SwiftTransforms.base, step], functions, fill: SwiftTransforms.fill)
  }

  @Test(arguments: [
    ("retype User.name to int using swift f", "User.name of row 2", "make User.name optional"),
    // With a later renaming, and beside another function.
    (
      "retype User.age to string using swift g\nretype User.name to int using swift f\n"
        + "rename attribute User.name -> code\nmake User.city required filling \"x\"", "User.name of row 2",
      "optional"
    ),
  ])
  func `nil for a required value is reported with the function, the property and the row`(
    _ step: String, _ place: String, _ advice: String
  ) async throws {
    let lab = try await lab(
      step,
      [
        .values("f") { (name: String) -> Int? in name == "Bob" ? nil : 1 },
        .values("g") { (age: Int) in "\(age)" },
      ])
    let before = try lab.image
    await #expect {
      try await lab.up()
    } throws: { error in
      guard case StoreError.rowsRefused(2, "s2", let operation, let reason) = error,
        operation.hasPrefix("retype User.name to int using swift f")
      else { return false }
      return reason.contains("\"f\"") && reason.contains(place) && reason.contains(advice)
        && !reason.contains("_mig_")
    }
    #expect(try lab.image == before)
  }

  @Test(
    arguments: [
      ("string", .values("f") { (_: Int) in 5 as Int }, "a whole number"),
      ("string", .values("f") { (_: Int) in 1.0 / 3 }, "a number"),
      ("decimal", .values("f") { (_: Int) in 0.1 as Double }, "a number"),
      ("int16", .values("f") { (_: Int) in "5" }, "a text"),
      ("int", .values("f") { (_: Int) in 5.0 as Double }, "a number"),
      ("double", .values("f") { (_: Int) in "0.5" }, "a text"),
      ("string", .values("f") { (_: Int) in Data([53]) }, "data"),
      ("data", .values("f") { (_: Int) in "5" }, "a text"),
    ] as [(String, MigrationTransform, String)])
  func `a function that returns a value of another type fails, and nothing is converted`(
    _ type: String, _ function: MigrationTransform, _ kind: String
  ) async throws {
    let lab = try await lab("retype User.age to \(type) using swift f", [function])
    await #expect {
      try await lab.up()
    } throws: { error in
      guard case StoreError.migrationFailed(2, "s2", _, let reason) = error else { return false }
      return reason.contains("User.age of row 1") && reason.contains("returned \(kind)")
        && reason.contains("is not a valid \(type)")
    }
  }

  @Test func `a function may return an integer for any numeric type`() async throws {
    for type in ["double", "decimal", "int8"] {
      let lab = try await lab(
        "retype User.age to \(type) using swift f", [.values("f") { (_: Int) in 5 as Int }])
      try await lab.up()
      #expect(try lab.rows("SELECT DISTINCT CAST(age AS INTEGER) FROM User") == [[5]] && lab.isSound())
    }
  }
}
