// Functions of the app in new stores, in rollbacks, and as conversions of values.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct SwiftTransformWays {
  private func lab(_ step: String, _ functions: [MigrationTransform]) async throws -> FunctionLab {
    try await FunctionLab([SwiftTransforms.base, step], functions, fill: SwiftTransforms.fill)
  }

  @Test func `a new store runs functions on seeded rows, and needs none where there are no rows`()
    async throws
  {
    let seeded = [
      SwiftTransforms.base, "seed { INSERT INTO $User($User.name) VALUES ('Dee Fox') }",
      SwiftTransforms.split,
      "transform sql { INSERT INTO $Tag($Tag.name) VALUES ('made') }",
    ]
    let lab = try await FunctionLab(seeded, [SwiftTransforms.splitting], at: 4)
    #expect(try lab.rows("SELECT first, last FROM User") == [["Dee", "Fox"]])
    #expect(try lab.rows("SELECT name FROM Tag") == [["made"]])
    let migrated = try await FunctionLab(seeded, [SwiftTransforms.splitting], at: 1)
    try await migrated.up()
    #expect(try migrated.image == lab.image)
    // Without a seed there is no object to split. The SQL transform runs all the same.
    let empty = try await FunctionLab([SwiftTransforms.base, SwiftTransforms.split, seeded[3]], [], at: 3)
    #expect(try empty.rows("SELECT name FROM Tag") == [["made"]])
    await #expect(throws: StoreError.transformMissing(step: 3, name: "s3", transform: "split")) {
      _ = try await FunctionLab(seeded, [], at: 4)
    }
  }

  @Test func `a function that writes only its step's properties is rolled back, and can run again`()
    async throws
  {
    let lab = try await lab(SwiftTransforms.split, [SwiftTransforms.splitting])
    // A save raises the version of a row, so that column is not compared.
    func rows() throws -> [[SQLValue]] {
      try lab.rows("SELECT id, name, age, city FROM User ORDER BY id")
    }
    let (before, users) = (try lab.image, try rows())
    try await lab.up()
    let after = try lab.image
    #expect(try await lab.down().takenBack == [2])
    #expect(try lab.image.model == before.model && lab.image.physicalHash == before.physicalHash)
    #expect(try rows() == users)
    try await lab.up()
    try lab.run("UPDATE User SET first = 'wrong'")
    try await Store.redo(
      at: lab.url, key: testKey, migrations: lab.set, makesBackups: false,
      allowing: ["User.first", "User.last"])
    #expect(
      try lab.rows("SELECT first, last FROM User") == [["Ann", "Lee"], ["Bob", ""], ["Cy", "Di Ro"]])
    #expect(try lab.image.model == after.model)
    for (line, isLossless) in [
      ("transform swift f on User writes User.age", false), ("transform swift f on User", false),
      (
        "add attribute User.z int optional\nrename attribute User.z -> w\ntransform swift f on User writes User.w",
        true
      ),
      ("create entity W {\n}\ntransform swift f on User writes W", true),
      ("rename attribute User.age -> z\ntransform swift f on User writes User.z", false),
    ] {
      let set = try DowngradeLab.set([SwiftTransforms.base, line])
      guard case .operations = try set.steps[1].rollback(from: set.model(at: 1)) else {
        #expect(!isLossless, "\(line)")
        continue
      }
      #expect(isLossless, "\(line)")
    }
  }

  // MARK: Values

  @Test func `a function converts values to another type, and nil stays nil`() async throws {
    let lab = try await lab(
      "retype User.name to int using swift length\nrename attribute User.city -> town\nretype User.town to int using swift towns",
      [.values("length") { (name: String) in name.count }, .values("towns") { (town: String) in town.count }])
    let before = try lab.image
    try await lab.up()
    #expect(
      try lab.rows("SELECT name, typeof(name), town FROM User ORDER BY id") == [
        [7, "integer", .null], [3, "integer", .null], [8, "integer", .null],
      ])
    #expect(try lab.isSound())
    let image = try lab.image
    let none = try await self.lab(
      "retype User.city to string using swift f", [.values("f") { (town: String?) in town ?? "none" }])
    try await none.up()
    #expect(try none.rows("SELECT DISTINCT city FROM User") == [["none"]])
    #expect(image != before)
  }
}
