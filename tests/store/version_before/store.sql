PRAGMA application_id = 1447645267;
PRAGMA user_version = 2;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO meta VALUES('fingerprint key','6bb7c0e7f6fd9878dec2c014c8ea8a29d9a47fa886cac26cb1e82674cabe52b4');
INSERT INTO meta VALUES('ledger head','6 b8c112c20bb88967af3a19a65da5df91398e013e4e0f8938a7c03579581fba86');
CREATE TABLE data (
            name TEXT PRIMARY KEY, file TEXT NOT NULL, kind TEXT NOT NULL, records INTEGER NOT NULL,
            private INTEGER NOT NULL, fingerprint TEXT NOT NULL, unit TEXT NOT NULL,
            has_test INTEGER NOT NULL, created REAL NOT NULL) STRICT;
INSERT INTO data VALUES('flips','999816908d83301c.npz','sbn',40,1,'d95d3e9998cc1bc23df446366d882041','one image',1,1794851978.9718957);
CREATE TABLE runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
            request TEXT NOT NULL, model TEXT, data TEXT NOT NULL, fingerprint TEXT, seed INTEGER,
            status TEXT NOT NULL, step INTEGER NOT NULL DEFAULT 0, steps INTEGER NOT NULL,
            intended INTEGER NOT NULL DEFAULT 0, epsilon REAL, error TEXT,
            claimed REAL, launches INTEGER NOT NULL DEFAULT 0, worker TEXT, cancel INTEGER NOT NULL DEFAULT 0,
            created REAL NOT NULL, started REAL, ended REAL, versions TEXT NOT NULL DEFAULT '{}',
            pinned INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO runs VALUES(1,'ccc4e970','fit','{"model": "sbn", "data": "flips", "method": "paper", "noise": 6.0, "delta": 1e-05, "epochs": 4.0, "accountant": "pld", "hidden": 2}','sbn','flips','d95d3e9998cc1bc23df446366d882041',NULL,'done',4,4,4,1.2710877669435976,NULL,NULL,0,NULL,0,1794851979.7872176,1794851979.8556442,1794851982.44157,'{"python": "3.11.7", "vips-explorer": "0.1.0", "numpy": "2.4.6", "scipy": "1.17.1", "numba": "0.68.1", "dp-accounting": "0.6.0"}',0);
INSERT INTO runs VALUES(2,'0f39cc0d','fit','{"model": "sbn", "data": "flips", "method": "paper", "epsilon": 1.0, "delta": 1e-05, "epochs": 4.0, "accountant": "pld", "hidden": 2}','sbn','flips','d95d3e9998cc1bc23df446366d882041',NULL,'queued',0,4,0,0.0,NULL,NULL,0,NULL,0,1794851982.4718034,NULL,NULL,'{"python": "3.11.7", "vips-explorer": "0.1.0", "numpy": "2.4.6", "scipy": "1.17.1", "numba": "0.68.1", "dp-accounting": "0.6.0"}',0);
INSERT INTO runs VALUES(3,'ce2d2539','sweep','{"model": "sbn", "data": "mnist", "hidden": 2, "delta": 1e-05, "epsilon": [1.0], "seeds": 1}','sbn','mnist',NULL,NULL,'cancelled',0,1,0,0.0,NULL,NULL,0,NULL,0,1794851982.548915,NULL,1794851982.5636282,'{"python": "3.11.7", "vips-explorer": "0.1.0", "numpy": "2.4.6", "scipy": "1.17.1", "numba": "0.68.1", "dp-accounting": "0.6.0"}',0);
CREATE TABLE scores (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, step INTEGER NOT NULL,
            value REAL NOT NULL, PRIMARY KEY (run, step)) STRICT;
INSERT INTO scores VALUES('ccc4e970',1,0.6166666666666667);
INSERT INTO scores VALUES('ccc4e970',2,0.6);
INSERT INTO scores VALUES('ccc4e970',3,0.6);
INSERT INTO scores VALUES('ccc4e970',4,0.625);
CREATE TABLE ledger (
            number INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, fingerprint TEXT NOT NULL,
            data TEXT NOT NULL, run TEXT, content TEXT NOT NULL, previous TEXT NOT NULL,
            hash TEXT NOT NULL) STRICT;
INSERT INTO ledger VALUES(1,1794851978.9719608,'data','d95d3e9998cc1bc23df446366d882041','flips',NULL,'{"private": true, "records": 40}','0000000000000000000000000000000000000000000000000000000000000000','690268665f255203e177d70d6afdb6c44fba16860b27dc6414b1e77a355798b4');
INSERT INTO ledger VALUES(2,1794851978.9721372,'cap','d95d3e9998cc1bc23df446366d882041','flips',NULL,'{"delta": 1e-05, "epsilon": 5.0}','690268665f255203e177d70d6afdb6c44fba16860b27dc6414b1e77a355798b4','ab0b3336c0688a56107a0fdc1519c1dbd1348f68f635f2bb54a59151af93a2c8');
INSERT INTO ledger VALUES(3,1794851979.7871425,'reserve','d95d3e9998cc1bc23df446366d882041','flips','ccc4e970','{"events": [[1.0, 6.0, 4]], "steps": 4}','ab0b3336c0688a56107a0fdc1519c1dbd1348f68f635f2bb54a59151af93a2c8','cdc8ef0165067c31be00661dabb853ac064c412cb26e8ac447d3bd872cb881b1');
INSERT INTO ledger VALUES(4,1794851982.4416673,'settle','d95d3e9998cc1bc23df446366d882041','flips','ccc4e970','{"events": [[1.0, 6.0, 4]]}','cdc8ef0165067c31be00661dabb853ac064c412cb26e8ac447d3bd872cb881b1','928065b067c131958cd48376a0da0c2e740c12a48e774c5e42a782642f3ef34f');
INSERT INTO ledger VALUES(5,1794851982.4717035,'reserve','d95d3e9998cc1bc23df446366d882041','flips','0f39cc0d','{"events": [[1.0, 7.461263269639335, 4]], "steps": 4}','928065b067c131958cd48376a0da0c2e740c12a48e774c5e42a782642f3ef34f','20f61629c369362935e88f4bc1ebb9ac108ceb68f1ac1195d5f2db45b6810b5c');
INSERT INTO ledger VALUES(6,1794851982.4957833,'cap','d95d3e9998cc1bc23df446366d882041','flips',NULL,'{"delta": 1e-05, "epsilon": 6.0}','20f61629c369362935e88f4bc1ebb9ac108ceb68f1ac1195d5f2db45b6810b5c','b8c112c20bb88967af3a19a65da5df91398e013e4e0f8938a7c03579581fba86');
CREATE TABLE costs (composition TEXT PRIMARY KEY, epsilon REAL NOT NULL) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('runs',3);
CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_not_cut BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE INDEX runs_by_status ON runs (status);
CREATE INDEX ledger_by_fingerprint ON ledger (fingerprint);
COMMIT;
